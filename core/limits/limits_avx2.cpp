#include "limits/limits.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

constexpr int chains = 10;

template <class Step>
double repeat(long rounds, double work_a_step, Step&& step) {
  __m256i sums[chains];
  // Unrolled everywhere, or the chains live in memory and a store is what is measured.
#pragma GCC unroll 10
  for (int i = 0; i < chains; ++i) sums[i] = _mm256_set1_epi32(i + 1);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 10
    for (int i = 0; i < chains; ++i) step(sums[i]);
  }
  volatile int sink = 0;
#pragma GCC unroll 10
  for (int i = 0; i < chains; ++i) sink = _mm256_extract_epi32(sums[i], 0);
  (void)sink;
  return work_a_step * chains * static_cast<double>(rounds);
}

double fp32(long rounds) {
  // Multiplication and addition apart: this file is compiled without fused instructions.
  const __m256 factor = _mm256_set1_ps(0.5f);
  return repeat(rounds, 2.0 * 8, [&](__m256i& sum) {
    sum = _mm256_castps_si256(_mm256_add_ps(_mm256_mul_ps(_mm256_castsi256_ps(sum), factor), factor));
  });
}

double int8(long rounds) {
  const __m256i factors = _mm256_set1_epi8(-5), ones = _mm256_set1_epi16(1), mask = _mm256_set1_epi8(3);
  return repeat(rounds, 2.0 * 32, [&](__m256i& sum) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_and_si256(sum, mask), factors);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  });
}

double popcount(long rounds) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  return repeat(rounds, 2.0 * 256, [&](__m256i& sum) {
    const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(sum, nibble));
    const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(sum, 4), nibble));
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256()));
  });
}

}  // namespace

const LimitLoops limit_loops_avx2 = {&fp32, &int8, &popcount};

}  // namespace nanogram
#endif
