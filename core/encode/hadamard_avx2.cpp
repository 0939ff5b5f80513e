#include "encode/hadamard.hpp"
#include "random/counter.hpp"
#include "random/threefry.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

constexpr int lanes = 16;

struct Vec {
  __m256i x;
  static Vec load(const std::int16_t* p) { return {_mm256_load_si256(reinterpret_cast<const __m256i*>(p))}; }
  void store(std::int16_t* p) const { _mm256_store_si256(reinterpret_cast<__m256i*>(p), x); }
  static Vec pair(std::uint32_t b) { return {_mm256_set1_epi32(static_cast<int>(b))}; }
};

inline Vec add(Vec a, Vec b) { return {_mm256_add_epi16(a.x, b.x)}; }
inline Vec subtract(Vec a, Vec b) { return {_mm256_sub_epi16(a.x, b.x)}; }
inline Vec add_saturated(Vec a, Vec b) { return {_mm256_adds_epi16(a.x, b.x)}; }
inline Vec subtract_saturated(Vec a, Vec b) { return {_mm256_subs_epi16(a.x, b.x)}; }
inline Vec multiply_high_rounded(Vec a, Vec b) { return {_mm256_mulhrs_epi16(a.x, b.x)}; }
inline Vec multiply_low(Vec a, Vec b) { return {_mm256_mullo_epi16(a.x, b.x)}; }
inline Vec multiply_high_unsigned(Vec a, Vec b) { return {_mm256_mulhi_epu16(a.x, b.x)}; }
inline Vec maximum(Vec a, Vec b) { return {_mm256_max_epi16(a.x, b.x)}; }
inline Vec exclusive_or(Vec a, Vec b) { return {_mm256_xor_si256(a.x, b.x)}; }
inline Vec absolute(Vec a) { return {_mm256_abs_epi16(a.x)}; }
inline Vec shift_left(Vec a, int by) { return {_mm256_slli_epi16(a.x, by)}; }
inline Vec add_where_greater(Vec sum, Vec a, Vec b, Vec addend) {
  return {_mm256_add_epi16(sum.x, _mm256_and_si256(_mm256_cmpgt_epi16(a.x, b.x), addend.x))};
}

// Halves of the dwords of two vectors, the first one's low.
inline Vec low_halves(Vec a, Vec b) { return {_mm256_blend_epi16(a.x, _mm256_slli_epi32(b.x, 16), 0xAA)}; }
inline Vec high_halves(Vec a, Vec b) { return {_mm256_blend_epi16(_mm256_srli_epi32(a.x, 16), b.x, 0xAA)}; }
inline void store_masked(std::uint32_t* p, Vec v, const std::uint32_t* mask) {
  const __m256i keep = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_and_si256(v.x, keep));
}

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
