#include "encode_dense/encode_dense.hpp"

#if NANOGRAM_X86
#pragma GCC diagnostic ignored "-Wuninitialized"  // gcc 12 warns inside its own header
#include <immintrin.h>

#include "random/threefry.hpp"

namespace nanogram::dense {
namespace {

constexpr int vector_lanes = 16;
#include "encode/vec_avx512.inl"
#include "encode_dense/lanes.inl"
// gcc 12 would widen halves and join them.
inline Long widened(Short x) { return reinterpret_cast<Long>(_mm512_cvtepi16_epi32(reinterpret_cast<__m256i>(x))); }
#include "encode_dense/body.inl"

// One-line assembly: gcc 12 spills the register tile around the intrinsics.
struct Bytes {
  static constexpr int depth = 4;
  static void dot(__m512i& sum, __m512i x, __m512i w) { asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w)); }
};
struct Words {
  static constexpr int depth = 2;
  static void dot(__m512i& sum, __m512i x, __m512i w) { asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w)); }
};

// 2 x 16 rows by 12 columns: 24 accumulators; a broadcast weight serves both row groups.
template <typename Dot, typename X, typename W>
void gemm_tile(const X* x0, const X* x1, const W* w, i64 steps, const i32* start, int keep, i32* acc0, i32* acc1) {
  __m512i sum[gemm_columns][2];
#pragma GCC unroll 12
  for (int j = 0; j < gemm_columns; ++j) sum[j][0] = sum[j][1] = _mm512_set1_epi32(start ? -128 * start[j] : 0);
  for (i64 k = 0; k < steps; ++k, x0 += lanes * Dot::depth, x1 += lanes * Dot::depth, w += gemm_columns * Dot::depth) {
    const __m512i first = _mm512_loadu_si512(x0), second = _mm512_loadu_si512(x1);
#pragma GCC unroll 12
    for (int j = 0; j < gemm_columns; ++j) {
      __m512i b;
      asm("vpbroadcastd %1, %0" : "=v"(b) : "m"(*reinterpret_cast<const i32*>(w + j * Dot::depth)));
      Dot::dot(sum[j][0], first, b);
      Dot::dot(sum[j][1], second, b);
    }
  }
#pragma GCC unroll 12
  for (int j = 0; j < gemm_columns; ++j)
    if (j < keep) {
      _mm512_storeu_si512(acc0 + j * lanes, sum[j][0]);
      _mm512_storeu_si512(acc1 + j * lanes, sum[j][1]);
    }
}

template <typename Dot, typename X, typename W>
void gemm(const W* tiles, const i32* sums, i64 p, const X* const* x, i64 begin, i64 end, i32* const* acc) {
  const i64 steps = (p + Dot::depth - 1) / Dot::depth;
  for (i64 j = begin; j < end; j += gemm_columns) {
    const int keep = static_cast<int>(end - j < gemm_columns ? end - j : gemm_columns);
    const i64 at = (j - begin) * lanes;
    gemm_tile<Dot>(x[0], x[1], tiles + j * steps * Dot::depth, steps, sums ? sums + j : nullptr, keep, acc[0] + at,
                   acc[1] + at);
  }
}

void gemm8(const Weights& w, const std::uint8_t* const* x, i64 begin, i64 end, i32* const* acc) {
  gemm<Bytes>(w.tiles8, w.sums, w.p, x, begin, end, acc);
}

void gemm16(const Weights& w, const i16* const* x, i64 begin, i64 end, i32* const* acc) {
  gemm<Words>(w.tiles16, nullptr, w.p, x, begin, end, acc);
}

}  // namespace

const Kernels kernels_avx512 = {&finish, &sparse, &table, &gemm8, &gemm16};

}  // namespace nanogram::dense
#endif
