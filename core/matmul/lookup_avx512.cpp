#include "matmul/lookup.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint8_t;

// The tables of a word are [nibble of the byte][plane][byte of the word][16]: an index holds the place of its byte, so
// that one permutation looks up all 64 bytes of a tile.

void build(const int32_t* weights, int planes, bool both, uint8_t* tables, int64_t* least) {
  const int bits = lookup_plane_bits[planes];
  const __m512i mask = _mm512_set1_epi32((1 << bits) - 1);
  const __m128i shift = _mm_cvtsi32_si128(bits);
  const __mmask16 first = both ? 0x8888 : 0xAAAA, third = both ? 0xF000 : 0xF0F0;
  const __mmask16 second = both ? 0 : 0xCCCC, fourth = both ? 0 : 0xFF00;
  int64_t all_least = 0;
  for (int nibble = 0; nibble < 8; ++nibble) {
    const int32_t* const w = weights + 4 * nibble;
    __m512i sum = _mm512_maskz_set1_epi32(first, w[0]);
    sum = _mm512_add_epi32(sum, _mm512_maskz_set1_epi32(second, w[1]));
    sum = _mm512_add_epi32(sum, _mm512_maskz_set1_epi32(third, w[2]));
    sum = _mm512_add_epi32(sum, _mm512_maskz_set1_epi32(fourth, w[3]));
    int32_t lowest = 0;
    for (int i = 0; i < 4; i += both ? 2 : 1) lowest += w[i] < 0 ? w[i] : 0;
    all_least += lowest;
    sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(lowest));
    uint8_t* const out = tables + nibble % 2 * planes * 64 + nibble / 2 * 16;
    for (int p = 0; p < planes; ++p) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + p * 64), _mm512_cvtepi32_epi8(_mm512_and_si512(sum, mask)));
      sum = _mm512_srl_epi32(sum, shift);
    }
  }
  *least = all_least;
}

inline __attribute__((always_inline)) __m512i load(const void* p) { return _mm512_loadu_si512(p); }

// The same, once: gcc would rather load again for each use, and one load a cycle is all there is.
inline __attribute__((always_inline)) __m512i load_once(const void* p) {
  __m512i x = _mm512_loadu_si512(p);
  asm("" : "+v"(x));
  return x;
}

// Byte b of a dword: 16 b.
inline __m512i places() { return _mm512_set1_epi32(0x30201000); }

struct Indices {
  __m512i low, high;
};
inline __attribute__((always_inline)) Indices indices_of(__m512i word) {
  const __m512i nibble = _mm512_set1_epi8(15);
  // (word & nibble) | places
  return {_mm512_ternarylogic_epi32(word, nibble, places(), 0xEA),
          _mm512_ternarylogic_epi32(_mm512_srli_epi32(word, 4), nibble, places(), 0xEA)};
}

// One-line assembly: gcc 12 spills registers around the intrinsic.
inline __attribute__((always_inline)) void add_four_bytes(__m512i& sum, __m512i bytes, __m512i ones) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(ones));
}

template <int planes>
struct Tables {
  __m512i low[planes], high[planes];
  explicit __attribute__((always_inline)) Tables(const uint8_t* tables) {
#pragma GCC unroll 8
    for (int p = 0; p < planes; ++p) {
      low[p] = load_once(tables + p * 64);
      high[p] = load_once(tables + (planes + p) * 64);
    }
  }
  __attribute__((always_inline)) void add(__m512i (&sums)[planes], Indices at, __m512i ones) const {
#pragma GCC unroll 8
    for (int p = 0; p < planes; ++p)
      add_four_bytes(
          sums[p], _mm512_add_epi8(_mm512_permutexvar_epi8(at.low, low[p]), _mm512_permutexvar_epi8(at.high, high[p])),
          ones);
  }
};

// Loops over arrays of registers are unrolled by hand or pragma, or gcc keeps the arrays in memory.
template <int planes>
inline __attribute__((always_inline)) void clear(__m512i (&sums)[planes]) {
#pragma GCC unroll 8
  for (int p = 0; p < planes; ++p) sums[p] = _mm512_setzero_si512();
}

template <int planes>
inline __attribute__((always_inline)) void add_to(int32_t* acc, int64_t step, const __m512i (&sums)[planes]) {
#pragma GCC unroll 8
  for (int p = 0; p < planes; ++p) {
    int32_t* const place = acc + p * step;
    _mm512_storeu_si512(place, _mm512_add_epi32(load(place), sums[p]));
  }
}

constexpr int row_groups = 4;

template <int planes>
void forward(const uint32_t* const* tiles, int64_t words, const uint8_t* tables, int64_t column_stride, int64_t columns,
             int32_t* acc) {
  constexpr int table_bytes = planes * lookup_plane_bytes;
  const __m512i ones = _mm512_set1_epi8(1);
  // With several columns the indices are made once.
  alignas(64) uint8_t stored[lookup_words * row_groups * 128];
  const uint32_t *const rows0 = tiles[0], *const rows1 = tiles[1], *const rows2 = tiles[2], *const rows3 = tiles[3];
  if (columns == 1) {
    __m512i sums[row_groups][planes];
    clear(sums[0]), clear(sums[1]), clear(sums[2]), clear(sums[3]);
    for (int64_t w = 0; w < words; ++w) {
      const Tables<planes> table(tables + w * table_bytes);
      // Half a page ahead, into the second-level cache: measured best (into the first: 30 % slower than that).
      const int64_t ahead = (w + lookup_ahead) * 16;
      __builtin_prefetch(rows0 + ahead, 0, 2), __builtin_prefetch(rows1 + ahead, 0, 2);
      __builtin_prefetch(rows2 + ahead, 0, 2), __builtin_prefetch(rows3 + ahead, 0, 2);
      table.add(sums[0], indices_of(load_once(rows0 + w * 16)), ones);
      table.add(sums[1], indices_of(load_once(rows1 + w * 16)), ones);
      table.add(sums[2], indices_of(load_once(rows2 + w * 16)), ones);
      table.add(sums[3], indices_of(load_once(rows3 + w * 16)), ones);
    }
#pragma GCC unroll 4
    for (int g = 0; g < row_groups; ++g) add_to<planes>(acc + 16 * g, 16 * row_groups, sums[g]);
    return;
  }
  for (int64_t w = 0; w < words; ++w)
    for (int g = 0; g < row_groups; ++g) {
      __builtin_prefetch(tiles[g] + (w + lookup_ahead) * 16, 0, 2);
      const Indices at = indices_of(load_once(tiles[g] + w * 16));
      _mm512_store_si512(stored + (w * row_groups + g) * 128, at.low);
      _mm512_store_si512(stored + (w * row_groups + g) * 128 + 64, at.high);
    }
  for (int64_t column = 0; column < columns; ++column) {
    const uint8_t* const column_tables = tables + column * column_stride;
    __m512i sums[row_groups][planes];
    clear(sums[0]), clear(sums[1]), clear(sums[2]), clear(sums[3]);
    for (int64_t w = 0; w < words; ++w) {
      const Tables<planes> table(column_tables + w * table_bytes);
      const uint8_t* const at = stored + w * row_groups * 128;
#pragma GCC unroll 4
      for (int g = 0; g < row_groups; ++g)
        table.add(sums[g], {load_once(at + g * 128), load_once(at + g * 128 + 64)}, ones);
    }
#pragma GCC unroll 4
    for (int g = 0; g < row_groups; ++g)
      add_to<planes>(acc + column * planes * 16 * row_groups + 16 * g, 16 * row_groups, sums[g]);
  }
}

// ---------------------------------------------------------------- rows as bits

// Bits of 32 rows x 32 columns, transposed: a lane holds the rows of one bit column, columns 0..15 and 16..31.
struct Columns {
  __m512i low, high;
};

struct Orders {
  alignas(64) uint8_t gather[2][64];
  alignas(64) uint8_t spread[64];
  // The bit transpose takes the rows of a byte column from the last to the first. It leaves bytes [byte column][eight
  // rows][bit column]; lanes want [byte column][bit column][eight rows].
  constexpr Orders() : gather(), spread() {
    for (int half = 0; half < 2; ++half)
      for (int j = 0; j < 2; ++j)
        for (int octet = 0; octet < 4; ++octet)
          for (int r = 0; r < 8; ++r)
            gather[half][(j * 4 + octet) * 8 + 7 - r] = static_cast<uint8_t>((octet * 8 + r) * 4 + 2 * half + j);
    for (int j = 0; j < 2; ++j)
      for (int c = 0; c < 8; ++c)
        for (int octet = 0; octet < 4; ++octet)
          spread[(j * 8 + c) * 4 + octet] = static_cast<uint8_t>((j * 4 + octet) * 8 + c);
  }
};
constexpr Orders orders;

inline __attribute__((always_inline)) Columns transposed(__m512i first, __m512i second) {
  const __m512i unit = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201ull));
  const __m512i spread = load(orders.spread);
  const __m512i low = _mm512_permutex2var_epi8(first, load(orders.gather[0]), second);
  const __m512i high = _mm512_permutex2var_epi8(first, load(orders.gather[1]), second);
  return {_mm512_permutexvar_epi8(spread, _mm512_gf2p8affine_epi64_epi8(unit, low, 0)),
          _mm512_permutexvar_epi8(spread, _mm512_gf2p8affine_epi64_epi8(unit, high, 0))};
}

template <bool both>
inline __attribute__((always_inline)) __m512i bits_of(const uint32_t* tile) {
  const __m512i word = load_once(tile);
  if constexpr (both) return _mm512_and_si512(word, _mm512_srli_epi32(word, 1));
  return word;
}

template <int planes, bool both>
void backward(const uint32_t* tiles, int64_t group_stride, int64_t words, int groups, const uint8_t* tables,
              int64_t column_stride, int64_t columns, int32_t* acc, bool prefetch) {
  constexpr int table_bytes = planes * lookup_plane_bytes;
  const __m512i ones = _mm512_set1_epi8(1);
  const int pairs = (groups + 1) / 2;
  alignas(64) uint8_t stored[lookup_pairs * 256];
  for (int64_t w = 0; w < words; ++w) {
    const uint32_t* const column_of_tiles = tiles + w * 16;
    if (prefetch)
      for (int g = 0; g < groups; ++g) __builtin_prefetch(column_of_tiles + (groups + g) * group_stride, 0, 2);
    int32_t* const out = acc + w * columns * planes * 32;
    // The tables of rows beyond the last are zero; a group that is not there is read as the one before it.
    const auto columns_of = [&](int pair) __attribute__((always_inline)) {
      const uint32_t* const first = column_of_tiles + 2 * pair * group_stride;
      return transposed(bits_of<both>(first), bits_of<both>(2 * pair + 1 < groups ? first + group_stride : first));
    };
    if (columns == 1) {
      __m512i low[planes], high[planes];
      clear(low), clear(high);
      for (int pair = 0; pair < pairs; ++pair) {
        const Tables<planes> table(tables + pair * table_bytes);
        const Columns bits = columns_of(pair);
        table.add(low, indices_of(bits.low), ones);
        table.add(high, indices_of(bits.high), ones);
      }
      add_to<planes>(out, 32, low);
      add_to<planes>(out + 16, 32, high);
      continue;
    }
    for (int pair = 0; pair < pairs; ++pair) {
      const Columns bits = columns_of(pair);
      const Indices low = indices_of(bits.low), high = indices_of(bits.high);
      _mm512_store_si512(stored + pair * 256, low.low);
      _mm512_store_si512(stored + pair * 256 + 64, low.high);
      _mm512_store_si512(stored + pair * 256 + 128, high.low);
      _mm512_store_si512(stored + pair * 256 + 192, high.high);
    }
    for (int64_t column = 0; column < columns; ++column) {
      const uint8_t* const column_tables = tables + column * column_stride;
      __m512i low[planes], high[planes];
      clear(low), clear(high);
      for (int pair = 0; pair < pairs; ++pair) {
        const Tables<planes> table(column_tables + pair * table_bytes);
        const uint8_t* const at = stored + pair * 256;
        table.add(low, {load_once(at), load_once(at + 64)}, ones);
        table.add(high, {load_once(at + 128), load_once(at + 192)}, ones);
      }
      add_to<planes>(out + column * planes * 32, 32, low);
      add_to<planes>(out + column * planes * 32 + 16, 32, high);
    }
  }
}

}  // namespace

const LookupKernels lookup_kernels_avx512 = {
    row_groups,
    int64_t{1} << 20,
    true,
    &build,
    {&forward<3>, &forward<4>},
    {{&backward<3, false>, &backward<3, true>}, {&backward<4, false>, &backward<4, true>}},
};

}  // namespace nanogram
#endif
