#include "encode/hadamard.hpp"
#include "random/counter.hpp"
#include "random/threefry.hpp"

#if NANOGRAM_X86
#pragma GCC diagnostic ignored "-Wuninitialized"  // gcc 12 warns inside its own header
#include <immintrin.h>

namespace nanogram {
namespace {

#include "encode/vec_avx512.inl"

constexpr int lanes = 2 * side_lanes;

void row_keys(const std::int16_t* x, std::int64_t n, std::int64_t p, std::uint64_t* keys) {
  counter_avx512.keys_i16(x, n, p, keys);
}

// The next 16 columns of 32 rows: dword i of a column is row i below row i + 16.
constexpr int side_columns = 16;
inline void columns_to_lanes(const std::int16_t* rows, std::int64_t p, std::int16_t* out) {
  const auto row = [&](int i) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i * p)));
  };
  __m512i v[16], t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = _mm512_or_si512(row(i), _mm512_slli_epi32(row(i + 16), 16));
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // Quarter L of v[4 q + c] is now column 4 L + c of rows 4 q .. 4 q + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even = _mm512_shuffle_i32x4(v[c], v[4 + c], 0x88), odd = _mm512_shuffle_i32x4(v[c], v[4 + c], 0xDD);
    const __m512i even2 = _mm512_shuffle_i32x4(v[8 + c], v[12 + c], 0x88),
                  odd2 = _mm512_shuffle_i32x4(v[8 + c], v[12 + c], 0xDD);
    _mm512_store_si512(out + c * lanes, _mm512_shuffle_i32x4(even, even2, 0x88));
    _mm512_store_si512(out + (4 + c) * lanes, _mm512_shuffle_i32x4(odd, odd2, 0x88));
    _mm512_store_si512(out + (8 + c) * lanes, _mm512_shuffle_i32x4(even, even2, 0xDD));
    _mm512_store_si512(out + (12 + c) * lanes, _mm512_shuffle_i32x4(odd, odd2, 0xDD));
  }
}

#include "encode/kernels.inl"

}  // namespace

const EncodeKernels encode_avx512 = kernels;

}  // namespace nanogram
#endif
