// Products of codes of one and two bits by look-ups of four bits at a time.
//
// Four bits of a word, with weights of their own, have one of 16 sums. Tables of these sums, split in bytes of few bits
// ("planes"), are looked up 32 or 64 bytes at a time; a code of two bits is two bits whose weights are v and 2 v.
// README.md tells the arithmetic, lookup.cpp holds what is common to all instruction sets.
#pragma once

#include <cstdint>

#include "common/isa.hpp"

namespace nanogram {

inline constexpr int lookup_planes_least = 3;  // two digits of the right-hand side
inline constexpr int lookup_planes_most = 4;   // three digits
inline constexpr int lookup_sizes = 2;
// Bits of a plane: a nibble's sum less its least value stays below 2^18 for two digits (3 * 2 * 127 * 256) and below
// 2^28 for three, and the planes of two nibbles add up within a byte.
inline constexpr int lookup_plane_bits[lookup_planes_most + 1] = {0, 0, 0, 6, 7};
// Bytes of the tables of 32 bits in a plane: 8 nibbles of 16 entries.
inline constexpr int lookup_plane_bytes = 128;

inline constexpr int lookup_words = 32;  // of a forward call with several columns
inline constexpr int lookup_pairs = 8;   // of a backward call, at most: 32 rows each

inline constexpr int lookup_ahead = 32;  // words fetched ahead

struct LookupKernels {
  int row_groups;      // of a forward call
  std::int64_t words;  // of a forward call with one column: as many as stay useful
  bool backward;       // whether the backward kernels exist

  // Tables of 32 weights, one a bit, and the sum of the nibbles' least values, which the tables leave out. With `both`
  // the sum of a nibble is that of weights 0 and 2 where bits 0 and 1, and 2 and 3, are both set.
  void (*build)(const std::int32_t* weights, int planes, bool both, std::uint8_t* tables, std::int64_t* least);

  // Adds to acc[column][plane][16 * group + row] the looked-up sums over `words` words of `row_groups` groups of 16
  // rows. Tables of a column lie one word after the other, those of the next column `column_stride` bytes on. With more
  // than one column there are at most lookup_words words.
  void (*forward[lookup_sizes])(const std::uint32_t* const* tiles, std::int64_t words, const std::uint8_t* tables,
                                std::int64_t column_stride, std::int64_t columns, std::int32_t* acc);

  // Adds to acc[word][column][plane][bit] the sums over `pairs` pairs of consecutive groups (32 rows each, the second
  // group of the last pair left out when `groups` is odd). Tables of a column lie one pair after the other. With `both`
  // bit b stands for bits b and b + 1 of the word both being set.
  void (*backward_run[lookup_sizes][2])(const std::uint32_t* tiles, std::int64_t group_stride, std::int64_t words,
                                        int groups, const std::uint8_t* tables, std::int64_t column_stride,
                                        std::int64_t columns, std::int32_t* acc, bool prefetch);
};

#if NANOGRAM_X86
extern const LookupKernels lookup_kernels_avx2;
extern const LookupKernels lookup_kernels_avx512;
#endif

// Null where an instruction set has none.
inline const LookupKernels* lookup_kernels(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return &lookup_kernels_avx512;
  if (isa == Isa::avx2) return &lookup_kernels_avx2;
#endif
  (void)isa;
  return nullptr;
}

}  // namespace nanogram
