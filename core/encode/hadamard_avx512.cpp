#include "encode/hadamard.hpp"
#include "random/counter.hpp"
#include "random/threefry.hpp"

#if NANOGRAM_X86
#pragma GCC diagnostic ignored "-Wuninitialized"  // gcc 12 warns inside its own header
#include <immintrin.h>

namespace nanogram {
namespace {

constexpr int lanes = 32;

struct Vec {
  __m512i x;
  static Vec load(const std::int16_t* p) { return {_mm512_load_si512(p)}; }
  void store(std::int16_t* p) const { _mm512_store_si512(p, x); }
  static Vec pair(std::uint32_t b) { return {_mm512_set1_epi32(static_cast<int>(b))}; }
};

inline Vec add(Vec a, Vec b) { return {_mm512_add_epi16(a.x, b.x)}; }
inline Vec subtract(Vec a, Vec b) { return {_mm512_sub_epi16(a.x, b.x)}; }
inline Vec add_saturated(Vec a, Vec b) { return {_mm512_adds_epi16(a.x, b.x)}; }
inline Vec subtract_saturated(Vec a, Vec b) { return {_mm512_subs_epi16(a.x, b.x)}; }
inline Vec multiply_high_rounded(Vec a, Vec b) { return {_mm512_mulhrs_epi16(a.x, b.x)}; }
inline Vec multiply_low(Vec a, Vec b) { return {_mm512_mullo_epi16(a.x, b.x)}; }
inline Vec multiply_high_unsigned(Vec a, Vec b) { return {_mm512_mulhi_epu16(a.x, b.x)}; }
inline Vec maximum(Vec a, Vec b) { return {_mm512_max_epi16(a.x, b.x)}; }
inline Vec exclusive_or(Vec a, Vec b) { return {_mm512_xor_si512(a.x, b.x)}; }
inline Vec absolute(Vec a) { return {_mm512_abs_epi16(a.x)}; }
inline Vec shift_left(Vec a, int by) { return {_mm512_slli_epi16(a.x, static_cast<unsigned>(by))}; }
inline Vec add_where_greater(Vec sum, Vec a, Vec b, Vec addend) {
  return {_mm512_mask_add_epi16(sum.x, _mm512_cmpgt_epi16_mask(a.x, b.x), sum.x, addend.x)};
}

// Halves of the dwords of two vectors, the first one's low.
inline Vec low_halves(Vec a, Vec b) { return {_mm512_mask_blend_epi16(0xAAAAAAAAu, a.x, _mm512_slli_epi32(b.x, 16))}; }
inline Vec high_halves(Vec a, Vec b) { return {_mm512_mask_blend_epi16(0xAAAAAAAAu, _mm512_srli_epi32(a.x, 16), b.x)}; }
inline void store_masked(std::uint32_t* p, Vec v, const std::uint32_t* mask) {
  _mm512_storeu_si512(p, _mm512_and_si512(v.x, _mm512_load_si512(mask)));
}

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
