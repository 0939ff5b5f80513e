#include "encode/hadamard.hpp"
#include "random/counter.hpp"
#include "random/threefry.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

#include "encode/vec_avx2.inl"

constexpr int lanes = 2 * side_lanes;

void row_keys(const std::int16_t* x, std::int64_t n, std::int64_t p, std::uint64_t* keys) {
  counter_avx2.keys_i16(x, n, p, keys);
}

// The next 8 columns of 16 rows: dword i of a column is row i below row i + 8.
constexpr int side_columns = 8;
inline void columns_to_lanes(const std::int16_t* rows, std::int64_t p, std::int16_t* out) {
  const auto row = [&](int i) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + i * p)));
  };
  const auto put = [&](int column, __m256i v) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(out + column * lanes), v);
  };
  __m256i v[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) v[i] = _mm256_or_si256(row(i), _mm256_slli_epi32(row(i + 8), 16));
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    v[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    put(c, _mm256_permute2x128_si256(v[c], v[4 + c], 0x20));
    put(4 + c, _mm256_permute2x128_si256(v[c], v[4 + c], 0x31));
  }
}

#include "encode/kernels.inl"

}  // namespace

const EncodeKernels encode_avx2 = kernels;

}  // namespace nanogram
#endif
