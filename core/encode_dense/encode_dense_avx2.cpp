#include "encode_dense/encode_dense.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

#include "random/threefry.hpp"

namespace nanogram::dense {
namespace {

constexpr int vector_lanes = 8;
#include "encode/vec_avx2.inl"
#include "encode_dense/lanes.inl"
inline Long widened(Short x) { return __builtin_convertvector(x, Long); }
#include "encode_dense/body.inl"
#include "encode_dense/gemm_plain.inl"

// 16 rows x `columns` accumulators in registers, half a block of columns at a time.
constexpr int half = gemm_columns / 2;

void gemm16_tile(const i16* x, const i16* w, i64 steps, int keep, i32* acc) {
  __m256i sum[half][2];
#pragma GCC unroll 6
  for (int j = 0; j < half; ++j) sum[j][0] = sum[j][1] = _mm256_setzero_si256();
  for (i64 k = 0; k < steps; ++k, x += 2 * lanes, w += 2 * gemm_columns) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + lanes));
#pragma GCC unroll 6
    for (int j = 0; j < half; ++j) {
      i32 two;
      __builtin_memcpy(&two, w + 2 * j, 4);
      const __m256i b = _mm256_set1_epi32(two);
      sum[j][0] = _mm256_add_epi32(sum[j][0], _mm256_madd_epi16(low, b));
      sum[j][1] = _mm256_add_epi32(sum[j][1], _mm256_madd_epi16(high, b));
    }
  }
#pragma GCC unroll 6
  for (int j = 0; j < half; ++j)
    if (j < keep) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + j * lanes), sum[j][0]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + j * lanes + 8), sum[j][1]);
    }
}

void gemm16(const Weights& w, const i16* const* x, i64 begin, i64 end, i32* const* acc) {
  const i64 steps = (w.p + 1) / 2;
  for (i64 j = begin; j < end; j += half) {
    const i16* tile = w.tiles16 + (j / gemm_columns * steps * gemm_columns + j % gemm_columns) * 2;
    const int keep = static_cast<int>(end - j < half ? end - j : half);
    for (int g = 0; g < 2; ++g) gemm16_tile(x[g], tile, steps, keep, acc[g] + (j - begin) * lanes);
  }
}

}  // namespace

const Kernels kernels_avx2 = {&finish, &sparse, &table, &gemm8, &gemm16};

}  // namespace nanogram::dense
#endif
