#include "matmul/lookup.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint8_t;

// A byte shuffle looks up within 128 bits, so the bytes of a word are brought apart first: one register holds bytes 0
// and 1 of 16 rows, one to a half, the other bytes 2 and 3. Tables of a word are [pair of
// bytes][nibble][plane][byte][16].

inline __attribute__((always_inline)) __m256i load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

void build(const int32_t* weights, int planes, bool both, uint8_t* tables, int64_t* least) {
  const int bits = lookup_plane_bits[planes];
  const __m256i mask = _mm256_set1_epi32((1 << bits) - 1);
  const __m128i shift = _mm_cvtsi32_si128(bits);
  // Whether entry e of 16 holds bit i (with `both`: bits i and i + 1), as all ones.
  alignas(32) int32_t holds[4][16];
  for (int i = 0; i < 4; ++i)
    for (int e = 0; e < 16; ++e) {
      const bool here = both ? i % 2 == 0 && (e >> i & 3) == 3 : (e >> i & 1) != 0;
      holds[i][e] = here ? -1 : 0;
    }
  int64_t all_least = 0;
  for (int nibble = 0; nibble < 8; ++nibble) {
    __m256i low = _mm256_setzero_si256(), high = low;
    int32_t lowest = 0;
    for (int i = 0; i < 4; i += both ? 2 : 1) {
      const int32_t w = weights[4 * nibble + i];
      const __m256i weight = _mm256_set1_epi32(w);
      low = _mm256_add_epi32(low, _mm256_and_si256(weight, load(holds[i])));
      high = _mm256_add_epi32(high, _mm256_and_si256(weight, load(holds[i] + 8)));
      lowest += w < 0 ? w : 0;
    }
    all_least += lowest;
    low = _mm256_sub_epi32(low, _mm256_set1_epi32(lowest));
    high = _mm256_sub_epi32(high, _mm256_set1_epi32(lowest));
    uint8_t* const out = tables + (nibble / 4 * 2 + nibble % 2) * planes * 32 + nibble / 2 % 2 * 16;
    for (int p = 0; p < planes; ++p) {
      const __m256i pairs = _mm256_permute4x64_epi64(
          _mm256_packus_epi32(_mm256_and_si256(low, mask), _mm256_and_si256(high, mask)), 0xD8);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + p * 32),
                       _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1)));
      low = _mm256_srl_epi32(low, shift);
      high = _mm256_srl_epi32(high, shift);
    }
  }
  *least = all_least;
}

// Bytes summed in 16-bit lanes: the odd ones shifted down, and all as they are; what the odd ones put too much into the
// latter is taken off in the end.
struct ByteSums {
  __m256i all, odd;
  __attribute__((always_inline)) void add(__m256i bytes) {
    all = _mm256_add_epi16(all, bytes);
    odd = _mm256_add_epi16(odd, _mm256_srli_epi16(bytes, 8));
  }
  // Rows lie as 0-3, 8-11, 4-7, 12-15.
  __attribute__((always_inline)) void add_to(int32_t* acc) const {
    const __m256i even = _mm256_sub_epi16(all, _mm256_slli_epi16(odd, 8));
    const __m256i e = _mm256_add_epi32(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(even)),
                                       _mm256_cvtepu16_epi32(_mm256_extracti128_si256(even, 1)));
    const __m256i o = _mm256_add_epi32(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(odd)),
                                       _mm256_cvtepu16_epi32(_mm256_extracti128_si256(odd, 1)));
    __m256i* const first = reinterpret_cast<__m256i*>(acc);
    __m256i* const second = reinterpret_cast<__m256i*>(acc + 8);
    _mm256_storeu_si256(first, _mm256_add_epi32(load(first), _mm256_unpacklo_epi32(e, o)));
    _mm256_storeu_si256(second, _mm256_add_epi32(load(second), _mm256_unpackhi_epi32(e, o)));
  }
};

constexpr int64_t words_a_sum = 128;  // 65535 / (2 x 254)

template <int planes>
inline __attribute__((always_inline)) void group_forward(const uint32_t* tile, int64_t words, const uint8_t* tables,
                                                         int32_t* acc, int64_t step) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i order =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  ByteSums sums[planes];
#pragma GCC unroll 4
  for (int p = 0; p < planes; ++p) sums[p].all = sums[p].odd = _mm256_setzero_si256();
  for (int64_t w = 0; w < words; ++w) {
    __builtin_prefetch(tile + (w + lookup_ahead) * 16, 0, 2);
    const __m256i first = _mm256_shuffle_epi8(load(tile + w * 16), order);
    const __m256i second = _mm256_shuffle_epi8(load(tile + w * 16 + 8), order);
    const __m256i bytes01 = _mm256_permute4x64_epi64(_mm256_unpacklo_epi32(first, second), 0xD8);
    const __m256i bytes23 = _mm256_permute4x64_epi64(_mm256_unpackhi_epi32(first, second), 0xD8);
    const __m256i at0 = _mm256_and_si256(bytes01, nibble);
    const __m256i at1 = _mm256_and_si256(_mm256_srli_epi16(bytes01, 4), nibble);
    const __m256i at2 = _mm256_and_si256(bytes23, nibble);
    const __m256i at3 = _mm256_and_si256(_mm256_srli_epi16(bytes23, 4), nibble);
    const uint8_t* const table = tables + w * planes * lookup_plane_bytes;
#pragma GCC unroll 4
    for (int p = 0; p < planes; ++p) {
      const auto found = [&](int place, __m256i at) __attribute__((always_inline)) {
        return _mm256_shuffle_epi8(load(table + (place * planes + p) * 32), at);
      };
      const __m256i bytes = _mm256_add_epi8(found(0, at0), found(1, at1));
      const __m256i more = _mm256_add_epi8(found(2, at2), found(3, at3));
      if constexpr (planes == 3) {  // six bits: four of them fit in a byte
        sums[p].add(_mm256_add_epi8(bytes, more));
      } else {
        sums[p].add(bytes);
        sums[p].add(more);
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < planes; ++p) sums[p].add_to(acc + p * step);
}

constexpr int row_groups = 4;

template <int planes>
void forward(const uint32_t* const* tiles, int64_t words, const uint8_t* tables, int64_t column_stride, int64_t columns,
             int32_t* acc) {
  for (int64_t column = 0; column < columns; ++column)
    for (int g = 0; g < row_groups; ++g)
      for (int64_t w = 0; w < words; w += words_a_sum)
        group_forward<planes>(tiles[g] + w * 16, words - w < words_a_sum ? words - w : words_a_sum,
                              tables + column * column_stride + w * planes * lookup_plane_bytes,
                              acc + column * planes * 16 * row_groups + 16 * g, 16 * row_groups);
}

}  // namespace

const LookupKernels lookup_kernels_avx2 = {
    row_groups, int64_t{1} << 20, false, &build, {&forward<3>, &forward<4>}, {{nullptr, nullptr}, {nullptr, nullptr}},
};

}  // namespace nanogram
#endif
