#include "limits/limits.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

constexpr int chains = 16;

template <class Step>
void repeat(long rounds, __m512i (&sums)[chains], Step&& step) {
  // Unrolled everywhere, or the chains live in memory and a store is what is measured.
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) sums[i] = _mm512_set1_epi32(i + 1);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i) step(sums[i]);
  }
}

double finish(const __m512i (&sums)[chains], double work) {
  volatile int sink = 0;
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) sink = _mm512_reduce_add_epi32(sums[i]);
  (void)sink;
  return work;
}

double fp32(long rounds) {
  __m512i sums[chains];
  const __m512 factor = _mm512_set1_ps(0.5f);
  repeat(rounds, sums, [&](__m512i& sum) {
    __m512 value = _mm512_castsi512_ps(sum);
    asm("vfmadd213ps %1, %1, %0" : "+v"(value) : "v"(factor));
    sum = _mm512_castps_si512(value);
  });
  return finish(sums, 2.0 * 16 * chains * static_cast<double>(rounds));
}

double int8(long rounds) {
  __m512i sums[chains];
  const __m512i bytes = _mm512_set1_epi8(3), factors = _mm512_set1_epi8(-5);
  repeat(rounds, sums, [&](__m512i& sum) { asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(factors)); });
  return finish(sums, 2.0 * 64 * chains * static_cast<double>(rounds));
}

double popcount(long rounds) {
  __m512i sums[chains];
  __m512i mask = _mm512_set1_epi64(0x123456789abcdef);
  repeat(rounds, sums, [&](__m512i& sum) {
    __m512i both;
    asm("vpandq %2, %1, %0" : "=v"(both) : "v"(mask), "v"(sum));
    asm("vpopcntq %0, %0" : "+v"(both));
    sum = _mm512_add_epi64(sum, both);
  });
  return finish(sums, 2.0 * 512 * chains * static_cast<double>(rounds));
}

}  // namespace

const LimitLoops limit_loops_avx512 = {&fp32, &int8, &popcount};

}  // namespace nanogram
#endif
