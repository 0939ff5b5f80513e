// Products of codes with AVX2: table look-ups of nibbles for bit planes, 16-bit multiply-adds for bytes.
#include "gram/gram.hpp"
#include "gram/table.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram::gram {

namespace {

using i64 = std::int64_t;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

#include "gram/portable.hpp"

inline __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
inline void store(void* to, __m256i value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }

inline void byte_lines(const u32* const* tiles, u8 (*lines)[64]) {
  const __m256i gather = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9,
                                          13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m256i lanes = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (int t = 0; t < 4; ++t) {
    // Eight rows a half: byte b of them in 64-bit lane b.
    const __m256i x = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(load(tiles[t]), gather), lanes);
    const __m256i y = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(load(tiles[t] + 8), gather), lanes);
    const __m256i even = _mm256_unpacklo_epi64(x, y), odd = _mm256_unpackhi_epi64(x, y);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(lines[0] + 16 * t), _mm256_castsi256_si128(even));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(lines[1] + 16 * t), _mm256_castsi256_si128(odd));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(lines[2] + 16 * t), _mm256_extracti128_si256(even, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(lines[3] + 16 * t), _mm256_extracti128_si256(odd, 1));
  }
}

inline void bit_lines(const u8* line, u64* bits) {
  __m256i x = load(line), y = load(line + 32);
  for (int k = 7; k >= 0; --k) {
    bits[k] = static_cast<u32>(_mm256_movemask_epi8(x)) | static_cast<u64>(static_cast<u32>(_mm256_movemask_epi8(y)))
                                                              << 32;
    x = _mm256_add_epi8(x, x);
    y = _mm256_add_epi8(y, y);
  }
}

inline void transpose_words(const u32* words, u32 (*by_row)[16]) { transpose_words_portable(words, by_row); }

inline u64 popcount_line(const u8* a, const u8* b) {
  u64 count = 0;
  for (int w = 0; w < 8; ++w) {
    u64 x, y;
    __builtin_memcpy(&x, a + 8 * w, 8);
    __builtin_memcpy(&y, b + 8 * w, 8);
    count += static_cast<u64>(__builtin_popcountll(x & y));
  }
  return count;
}

#include "gram/flush.hpp"
#include "gram/pack.hpp"

inline __m256i table_of_nibbles(int scale) {
  const auto s = [scale](int count) { return static_cast<char>(scale * count); };
  return _mm256_setr_epi8(s(0), s(1), s(1), s(2), s(1), s(2), s(2), s(3), s(1), s(2), s(2), s(3), s(2), s(3), s(3),
                          s(4), s(0), s(1), s(1), s(2), s(1), s(2), s(2), s(3), s(1), s(2), s(2), s(3), s(2), s(3),
                          s(3), s(4));
}

// acc += table[low nibble] + table[high nibble], byte by byte.
inline __m256i count(__m256i acc, __m256i x, __m256i table) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble));
  const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
  return _mm256_add_epi8(acc, _mm256_add_epi8(low, high));
}

inline i64 sum_of(__m256i lanes) {
  const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  return _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
}

// 2 x 2 bit tiles: byte counters start at `start` and are emptied before they can overflow. A line of 64 bytes is
// two registers, hence `most_steps` lines add at most 2 * 8 * most_steps to a byte.
template <int planes, int start, int most_steps>
inline void tile_counts(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  const __m256i ones = table_of_nibbles(1), minus_twos = table_of_nibbles(-2);
  __m256i total[4];
  for (int i = 0; i < 4; ++i) total[i] = _mm256_setzero_si256();
  for (i64 s = 0; s < steps;) {
    const i64 end = s + most_steps < steps ? s + most_steps : steps;
    __m256i acc[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) acc[i] = _mm256_set1_epi8(start);
    for (; s < end; ++s, a += step_bytes, b += step_bytes) {
      for (int half = 0; half < line_bytes; half += 32) {
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
#pragma GCC unroll 2
          for (int j = 0; j < 2; ++j) {
            const u8* x = a + i * line_bytes + half;
            const u8* y = b + j * line_bytes + half;
            const __m256i both = _mm256_and_si256(load(x), load(y));
            acc[2 * i + j] = count(acc[2 * i + j], both, ones);
            if constexpr (planes == 2) {
              const __m256i apart = _mm256_xor_si256(load(x + plane_bytes), load(y + plane_bytes));
              acc[2 * i + j] = count(acc[2 * i + j], _mm256_and_si256(both, apart), minus_twos);
            }
          }
        }
      }
    }
    for (int i = 0; i < 4; ++i)
      total[i] = _mm256_add_epi64(
          total[i], _mm256_sub_epi64(_mm256_sad_epu8(acc[i], _mm256_setzero_si256()), _mm256_set1_epi64x(8 * start)));
  }
  to[0] = sum_of(total[0]);
  to[1] = sum_of(total[1]);
  to[block_stride] = sum_of(total[2]);
  to[block_stride + 1] = sum_of(total[3]);
}

inline void tile_bits(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  tile_counts<1, 0, 15>(a, b, steps, step_bytes, to);
  tile_counts<1, 0, 15>(a, b + 2 * line_bytes, steps, step_bytes, to + 2);
}

// A pair of registers adds -16 to 16 to a byte that starts at 120 and must stay in 0..255.
inline void tile_ternary(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  tile_counts<2, 120, 7>(a, b, steps, step_bytes, to);
  tile_counts<2, 120, 7>(a, b + 2 * line_bytes, steps, step_bytes, to + 2);
}

inline __m256i widen(const u8* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

inline i64 sum_of_32(__m256i lanes) {
  return sum_of(_mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes)),
                                 _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1))));
}

// 2 x 4 of codes up to 15: products in bytes, sums in 16 bits (2 * 15 * 15 a register) for 32 lines, then in 32 bits.
inline void tile_small(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  __m256i total[8];
  for (int i = 0; i < 8; ++i) total[i] = _mm256_setzero_si256();
  for (i64 s = 0; s < steps;) {
    const i64 end = s + 32 < steps ? s + 32 : steps;
    __m256i acc[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) acc[i] = _mm256_setzero_si256();
    for (; s < end; ++s, a += step_bytes, b += step_bytes) {
      for (int half = 0; half < line_bytes; half += 32) {
        const __m256i x0 = load(a + half), x1 = load(a + line_bytes + half);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const __m256i y = load(b + j * line_bytes + half);
          acc[j] = _mm256_add_epi16(acc[j], _mm256_maddubs_epi16(x0, y));
          acc[4 + j] = _mm256_add_epi16(acc[4 + j], _mm256_maddubs_epi16(x1, y));
        }
      }
    }
    for (int i = 0; i < 8; ++i) total[i] = _mm256_add_epi32(total[i], _mm256_madd_epi16(acc[i], _mm256_set1_epi16(1)));
  }
  for (int i = 0; i < 8; ++i) to[(i / 4) * block_stride + i % 4] = sum_of_32(total[i]);
}

// 2 x 4 of bytes, widened to 16 bits.
inline void tile_bytes(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  __m256i acc[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) acc[i] = _mm256_setzero_si256();
  for (i64 s = 0; s < steps; ++s, a += step_bytes, b += step_bytes) {
    for (int part = 0; part < line_bytes; part += 16) {
      const __m256i x0 = widen(a + part), x1 = widen(a + line_bytes + part);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m256i y = widen(b + j * line_bytes + part);
        acc[j] = _mm256_add_epi32(acc[j], _mm256_madd_epi16(x0, y));
        acc[4 + j] = _mm256_add_epi32(acc[4 + j], _mm256_madd_epi16(x1, y));
      }
    }
  }
  for (int i = 0; i < 8; ++i) to[(i / 4) * block_stride + i % 4] = sum_of_32(acc[i]);
}

// 1 x 4 of 16-bit codes in two byte planes.
inline void tile_pairs(const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
  __m256i low[4], mixed[4], high[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) low[j] = mixed[j] = high[j] = _mm256_setzero_si256();
  for (i64 s = 0; s < steps; ++s, a += step_bytes, b += step_bytes) {
    for (int part = 0; part < line_bytes; part += 16) {
      const __m256i l0 = widen(a + part), h0 = widen(a + plane_bytes + part);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m256i l = widen(b + j * line_bytes + part), h = widen(b + plane_bytes + j * line_bytes + part);
        low[j] = _mm256_add_epi32(low[j], _mm256_madd_epi16(l0, l));
        mixed[j] = _mm256_add_epi32(mixed[j], _mm256_add_epi32(_mm256_madd_epi16(l0, h), _mm256_madd_epi16(h0, l)));
        high[j] = _mm256_add_epi32(high[j], _mm256_madd_epi16(h0, h));
      }
    }
  }
  for (int j = 0; j < 4; ++j) to[j] = sum_of_32(low[j]) + 256 * sum_of_32(mixed[j]) + 65536 * sum_of_32(high[j]);
}

void multiply_bits(const BlockJob& job) { sweep<2>(job, 1, &tile_bits); }
void multiply_ternary(const BlockJob& job) { sweep<2>(job, 2, &tile_ternary); }
void multiply_small(const BlockJob& job) { sweep<2>(job, 1, &tile_small); }
void multiply_bytes(const BlockJob& job) { sweep<2>(job, 1, &tile_bytes); }
void multiply_pairs(const BlockJob& job) { sweep<1>(job, 2, &tile_pairs); }

}  // namespace

const Table table_avx2 = {
    &pack_columns,   &pack_rows,
    &total,          {&multiply_bits, &multiply_ternary, &multiply_small, &multiply_bytes, &multiply_pairs},
    &flush,          &has_three,
    {0, 0, 0, 0, 0},
};

}  // namespace nanogram::gram
#endif
