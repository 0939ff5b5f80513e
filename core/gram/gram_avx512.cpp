// Products of codes with AVX-512 (VPOPCNTDQ for bit planes, VNNI for bytes).
#include "gram/gram.hpp"
#include "gram/table.hpp"

#if NANOGRAM_X86
// gcc 12 warns of the undefined registers inside its own intrinsics (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

namespace nanogram::gram {

namespace {

using i64 = std::int64_t;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

inline __m512i load(const void* from) { return _mm512_loadu_si512(from); }

inline void byte_lines(const u32* const* tiles, u8 (*lines)[64]) {
  // Byte b of the 16 words to 128-bit lane b of each tile, then a 4 x 4 transpose of lanes.
  const __m512i gather =
      _mm512_set_epi32(0x3F3B3733, 0x2F2B2723, 0x1F1B1713, 0x0F0B0703, 0x3E3A3632, 0x2E2A2622, 0x1E1A1612, 0x0E0A0602,
                       0x3D393531, 0x2D292521, 0x1D191511, 0x0D090501, 0x3C383430, 0x2C282420, 0x1C181410, 0x0C080400);
  const __m512i t0 = _mm512_permutexvar_epi8(gather, load(tiles[0]));
  const __m512i t1 = _mm512_permutexvar_epi8(gather, load(tiles[1]));
  const __m512i t2 = _mm512_permutexvar_epi8(gather, load(tiles[2]));
  const __m512i t3 = _mm512_permutexvar_epi8(gather, load(tiles[3]));
  const __m512i low01 = _mm512_shuffle_i64x2(t0, t1, 0x44), high01 = _mm512_shuffle_i64x2(t0, t1, 0xEE);
  const __m512i low23 = _mm512_shuffle_i64x2(t2, t3, 0x44), high23 = _mm512_shuffle_i64x2(t2, t3, 0xEE);
  _mm512_store_si512(lines[0], _mm512_shuffle_i64x2(low01, low23, 0x88));
  _mm512_store_si512(lines[1], _mm512_shuffle_i64x2(low01, low23, 0xDD));
  _mm512_store_si512(lines[2], _mm512_shuffle_i64x2(high01, high23, 0x88));
  _mm512_store_si512(lines[3], _mm512_shuffle_i64x2(high01, high23, 0xDD));
}

inline void bit_lines(const u8* line, u64* bits) {
  __m512i x = load(line);
  for (int k = 7; k >= 0; --k) {
    bits[k] = _cvtmask64_u64(_mm512_movepi8_mask(x));
    x = _mm512_add_epi8(x, x);
  }
}

inline void transpose_words(const u32* words, u32 (*by_row)[16]) {
  __m512i x[16], y[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = load(words + 16 * i);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  // x[4 q + c], lane l holds words 4 q .. 4 q + 3 of row 4 l + c.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i low01 = _mm512_shuffle_i64x2(x[c], x[4 + c], 0x44),
                  high01 = _mm512_shuffle_i64x2(x[c], x[4 + c], 0xEE);
    const __m512i low23 = _mm512_shuffle_i64x2(x[8 + c], x[12 + c], 0x44);
    const __m512i high23 = _mm512_shuffle_i64x2(x[8 + c], x[12 + c], 0xEE);
    _mm512_store_si512(by_row[c], _mm512_shuffle_i64x2(low01, low23, 0x88));
    _mm512_store_si512(by_row[4 + c], _mm512_shuffle_i64x2(low01, low23, 0xDD));
    _mm512_store_si512(by_row[8 + c], _mm512_shuffle_i64x2(high01, high23, 0x88));
    _mm512_store_si512(by_row[12 + c], _mm512_shuffle_i64x2(high01, high23, 0xDD));
  }
}

inline u64 popcount_line(const u8* a, const u8* b) {
  return static_cast<u64>(_mm512_reduce_add_epi64(_mm512_popcnt_epi64(_mm512_and_si512(load(a), load(b)))));
}

#include "gram/flush.hpp"
#include "gram/pack.hpp"

// Sums across each of eight vectors of 64-bit lanes, as one vector.
inline __m512i sum_lanes(const __m512i* v) {
  __m512i pair[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    pair[i] =
        _mm512_add_epi64(_mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]));
  const __m512i low =
      _mm512_add_epi64(_mm512_shuffle_i64x2(pair[0], pair[1], 0x88), _mm512_shuffle_i64x2(pair[0], pair[1], 0xDD));
  const __m512i high =
      _mm512_add_epi64(_mm512_shuffle_i64x2(pair[2], pair[3], 0x88), _mm512_shuffle_i64x2(pair[2], pair[3], 0xDD));
  return _mm512_add_epi64(_mm512_shuffle_i64x2(low, high, 0x88), _mm512_shuffle_i64x2(low, high, 0xDD));
}

inline void store_two_rows(i64* to, __m512i sums) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(sums));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + block_stride), _mm512_extracti64x4_epi64(sums, 1));
}

// 4 x 4: and, count, add.
inline void tile_bits(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  __m512i acc[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) acc[i] = _mm512_setzero_si512();
  for (i64 s = 0; s < steps; ++s, a += step_bytes, b += step_bytes) {
    __m512i left[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) left[i] = load(a + i * line_bytes);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m512i right = load(b + j * line_bytes);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        acc[4 * i + j] = _mm512_add_epi64(acc[4 * i + j], _mm512_popcnt_epi64(_mm512_and_si512(left[i], right)));
    }
  }
  store_two_rows(to, sum_lanes(acc));
  store_two_rows(to + 2 * block_stride, sum_lanes(acc + 8));
}

// 2 x 4 with two counts a pair: where both are nonzero, and where the signs differ as well.
inline void tile_ternary(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  __m512i both[8], apart[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) both[i] = apart[i] = _mm512_setzero_si512();
  for (i64 s = 0; s < steps; ++s, a += step_bytes, b += step_bytes) {
    __m512i nonzero[2], sign[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      nonzero[i] = load(a + i * line_bytes);
      sign[i] = load(a + plane_bytes + i * line_bytes);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m512i nonzero_b = load(b + j * line_bytes), sign_b = load(b + plane_bytes + j * line_bytes);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const __m512i x = _mm512_and_si512(nonzero[i], nonzero_b);
        both[4 * i + j] = _mm512_add_epi64(both[4 * i + j], _mm512_popcnt_epi64(x));
        // 0x60: x and (sign xor sign_b)
        apart[4 * i + j] = _mm512_add_epi64(apart[4 * i + j],
                                            _mm512_popcnt_epi64(_mm512_ternarylogic_epi64(x, sign[i], sign_b, 0x60)));
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) both[i] = _mm512_sub_epi64(both[i], _mm512_add_epi64(apart[i], apart[i]));
  store_two_rows(to, sum_lanes(both));
}

// One instruction of inline assembly: with the intrinsic gcc 12 moves every accumulator through memory.
inline void dot(__m512i& acc, __m512i unsigned_bytes, __m512i signed_bytes) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(unsigned_bytes), "v"(signed_bytes));
}

// Sums across each of four vectors of 32-bit lanes, as four 64-bit integers.
inline __m256i sum_four(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i abcd = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(abcd), _mm512_extracti64x4_epi64(abcd, 1));
  return _mm256_cvtepi32_epi64(_mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

// 4 x 4; `full`: codes of b above 127 enter as q - 128 (Table::shift).
template <bool full>
inline void tile_bytes(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  const __m512i top = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i acc[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) acc[i] = _mm512_setzero_si512();
  for (i64 s = 0; s < steps; ++s, a += step_bytes, b += step_bytes) {
    __m512i left[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) left[i] = load(a + i * line_bytes);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      __m512i right = load(b + j * line_bytes);
      if constexpr (full) right = _mm512_xor_si512(right, top);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) dot(acc[4 * i + j], left[i], right);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * block_stride),
                        sum_four(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]));
}

// 2 x 4 of 16-bit codes: low x low, the two mixed ones together, high x high.
inline void tile_pairs(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  const __m512i top = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i low[8], mixed[8], high[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) low[i] = mixed[i] = high[i] = _mm512_setzero_si512();
  for (i64 s = 0; s < steps; ++s, a += step_bytes, b += step_bytes) {
    const __m512i l0 = load(a), l1 = load(a + line_bytes);
    const __m512i h0 = load(a + plane_bytes), h1 = load(a + plane_bytes + line_bytes);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m512i l = _mm512_xor_si512(load(b + j * line_bytes), top);
      const __m512i h = _mm512_xor_si512(load(b + plane_bytes + j * line_bytes), top);
      dot(low[j], l0, l);
      dot(low[4 + j], l1, l);
      dot(mixed[j], l0, h);
      dot(mixed[4 + j], l1, h);
      dot(mixed[j], h0, l);
      dot(mixed[4 + j], h1, l);
      dot(high[j], h0, h);
      dot(high[4 + j], h1, h);
    }
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    const __m256i l = sum_four(low[i], low[i + 1], low[i + 2], low[i + 3]);
    const __m256i m = sum_four(mixed[i], mixed[i + 1], mixed[i + 2], mixed[i + 3]);
    const __m256i h = sum_four(high[i], high[i + 1], high[i + 2], high[i + 3]);
    const __m256i sum = _mm256_add_epi64(l, _mm256_add_epi64(_mm256_slli_epi64(m, 8), _mm256_slli_epi64(h, 16)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (i / 4) * block_stride), sum);
  }
}

void multiply_bits(const BlockJob& job) { sweep<4>(job, 1, &tile_bits); }
void multiply_ternary(const BlockJob& job) { sweep<2>(job, 2, &tile_ternary); }
void multiply_small(const BlockJob& job) { sweep<4>(job, 1, &tile_bytes<false>); }
void multiply_bytes(const BlockJob& job) { sweep<4>(job, 1, &tile_bytes<true>); }
void multiply_pairs(const BlockJob& job) { sweep<2>(job, 2, &tile_pairs); }

}  // namespace

const Table table_avx512 = {
    &pack_columns,
    &pack_rows,
    &total,
    {&multiply_bits, &multiply_ternary, &multiply_small, &multiply_bytes, &multiply_pairs},
    &flush,
    &has_three,
    {0, 0, 0, 128, 128 * 257},
};

}  // namespace nanogram::gram
#endif
