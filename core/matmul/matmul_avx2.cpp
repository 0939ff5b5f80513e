#include "matmul/kernels.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

constexpr int accumulators = 12;

struct Vec {
  static constexpr int dwords = 8;
  __m256i x;
  static Vec load(const std::uint32_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static Vec zero() { return {_mm256_setzero_si256()}; }
  static Vec broadcast(std::uint32_t b) { return {_mm256_set1_epi32(static_cast<int>(b))}; }
  template <int k>
  Vec shr() const {
    if constexpr (k == 0) return *this;
    return {_mm256_srli_epi32(x, k)};
  }
  Vec band(std::uint32_t mask) const { return {_mm256_and_si256(x, _mm256_set1_epi32(static_cast<int>(mask)))}; }
  Vec band(Vec other) const { return {_mm256_and_si256(x, other.x)}; }
  // Pairs of products stay within 16 bits up to byte 127 (127 * 128 * 2 = 32512).
  void dot4(Vec bytes, Vec factors) {
    const __m256i pairs = _mm256_maddubs_epi16(bytes.x, factors.x);
    x = _mm256_add_epi32(x, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  // Bytes up to 255: both nibbles apart, the upper one worth 16.
  void dot4_wide(Vec bytes, Vec factors) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i low = _mm256_maddubs_epi16(_mm256_and_si256(bytes.x, nibble), factors.x);
    const __m256i high = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(bytes.x, 4), nibble), factors.x);
    x = _mm256_add_epi32(x, _mm256_madd_epi16(low, _mm256_set1_epi16(1)));
    x = _mm256_add_epi32(x, _mm256_madd_epi16(high, _mm256_set1_epi16(16)));
  }
  Vec transpose_bytes() const {
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return {_mm256_shuffle_epi8(x, order)};
  }
  void store(std::int32_t* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  void add_rows_to(std::int32_t* p) const {
    const __m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    __m128i* const out = reinterpret_cast<__m128i*>(p);
    _mm_storeu_si128(out, _mm_add_epi32(_mm_loadu_si128(out), half));
  }
};

struct Trits {
  Vec low, top;
};

// Byte t0 + 3 t1 + 9 t2 + 27 t3 + 81 t4: t4 by comparison, the rest by a division by 9 and two look-ups.
inline Trits split_trits(Vec word) {
  const __m256i x = word.x;
  const __m256i unit = _mm256_set1_epi8(1);
  const __m256i one = _mm256_min_epu8(_mm256_subs_epu8(x, _mm256_set1_epi8(80)), unit);
  const __m256i two = _mm256_min_epu8(_mm256_subs_epu8(x, _mm256_set1_epi8(static_cast<char>(161))), unit);
  const __m256i top = _mm256_add_epi8(one, two);
  const __m256i fifth = _mm256_set1_epi8(81);
  const __m256i none = _mm256_setzero_si256();
  __m256i rest = _mm256_sub_epi8(x, _mm256_and_si256(_mm256_sub_epi8(none, one), fifth));
  rest = _mm256_sub_epi8(rest, _mm256_and_si256(_mm256_sub_epi8(none, two), fifth));
  const __m256i ninth = _mm256_set1_epi16(7282);  // ceil(65536 / 9): exact for all of 0..80
  const __m256i even = _mm256_mulhi_epu16(_mm256_and_si256(rest, _mm256_set1_epi16(255)), ninth);
  const __m256i odd = _mm256_mulhi_epu16(_mm256_srli_epi16(rest, 8), ninth);
  const __m256i nines = _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
  const __m256i units = _mm256_sub_epi8(rest, _mm256_add_epi8(_mm256_slli_epi16(nines, 3), nines));
  const __m256i pair = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 0, 0, 0, 0, 0, 0, 0));
  const __m256i low =
      _mm256_or_si256(_mm256_shuffle_epi8(pair, units), _mm256_slli_epi16(_mm256_shuffle_epi8(pair, nines), 4));
  return {{low}, {top}};
}

#define NANOGRAM_WIDE_BYTES 1
#include "matmul/kernels.inl"

}  // namespace

const MatmulKernels matmul_kernels_avx2 = NANOGRAM_MATMUL_KERNELS;

}  // namespace nanogram
#endif
