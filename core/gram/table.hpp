// What the driver asks of an instruction set: jobs over panels, and the table of functions that do them.
//
// A panel holds the vectors of a product (columns of C for C^T D, rows for C D^T) over one chunk of the sum,
// four side by side: [group of 4 vectors][step][plane][vector of the group][64 bytes]. Every tile then reads
// memory in one stream, and no two rows of it can alias in the cache.
#pragma once

#include <cstdint>

#include "common/isa.hpp"

namespace nanogram::gram {

enum class Format : int {
  bits = 0,     // one plane of bits, 512 codes a step
  ternary = 1,  // codes 0, 1, 2 as -1, 0, 1: plane 0 says "not zero", plane 1 "positive"
  small = 2,    // codes up to 15, a byte each, 64 a step
  bytes = 3,    // codes up to 255, a byte each
  pairs = 4,    // 16-bit codes: plane 0 the low bytes, plane 1 the high ones
};
inline constexpr int format_count = 5;
inline constexpr int planes_of[format_count] = {1, 2, 1, 1, 2};

inline constexpr int group_vectors = 4;
inline constexpr int line_bytes = 64;
inline constexpr int plane_bytes = group_vectors * line_bytes;

// Vectors a block of results spans, and the padded distance of its rows (no power of two: it is read across).
inline constexpr int block_vectors = 128;
inline constexpr int block_stride = block_vectors + 8;

// Packs codes into a panel. For sums along rows a unit is 64 rows (4 tiles) of a word column; for sums along
// columns it is 16 words of a tile of 16 rows.
struct PackJob {
  const std::uint32_t* words;
  std::int64_t rows, columns;  // of the matrix
  std::int64_t word_columns;
  int layout;
  Format format;
  std::uint8_t* panel;
  std::int64_t group_bytes;   // bytes of a group of 4 vectors in the panel
  std::int64_t first_vector;  // of the panel, a multiple of 160
  std::int64_t vectors;       // in the panel, padding to 4 included
  std::int64_t first_unit;    // of the chunk
};

struct BlockJob {
  const std::uint8_t* a;
  const std::uint8_t* b;
  std::int64_t group_bytes;
  std::int64_t steps;
  int groups_a, groups_b;
  bool triangle;       // skip groups of b before the group of a
  std::int64_t* sums;  // block_stride apart
};

// Adds a block of sums to the output, or turns it into the final floats on the last chunk.
struct FlushJob {
  std::int64_t* sums;  // overwritten
  int rows, columns;
  bool triangle, mirror, first, last, single;
  void* out;
  std::int64_t row, column, width;  // place of the block in the output, and its row length
  const std::int64_t* totals_a;     // sum of each vector's codes, at the block's first row (or null)
  const std::int64_t* totals_b;
  std::uint64_t offset2;  // twice the code that stands for zero, less zero2
  std::uint64_t length;   // terms of each sum
  std::uint64_t shift;    // what the kernel took off the codes of b
};

struct Table {
  void (*pack_columns)(const PackJob&, std::int64_t word0, std::int64_t word1, std::int64_t unit0, std::int64_t unit1);
  void (*pack_rows)(const PackJob&, std::int64_t tile0, std::int64_t tile1, std::int64_t unit0, std::int64_t unit1);
  // Adds each vector's sum of codes (centred for Format::ternary) of one group to totals[0..3].
  void (*total)(Format, const std::uint8_t* group, std::int64_t steps, std::int64_t* totals);
  void (*multiply[format_count])(const BlockJob&);
  void (*flush)(const FlushJob&);
  bool (*has_three)(const std::uint32_t* words, std::int64_t count);
  std::uint64_t shift[format_count];
};

extern const Table table_generic;
#if NANOGRAM_X86
extern const Table table_avx2;
extern const Table table_avx512;
#endif

// Five trits a byte, as two-bit fields: trits 0 to 3 of each byte, then trit 4 (codes as the reference decodes them).
struct TritTables {
  alignas(64) std::uint8_t first[256];
  alignas(64) std::uint8_t last[256];
};
extern const TritTables trit_tables;

}  // namespace nanogram::gram
