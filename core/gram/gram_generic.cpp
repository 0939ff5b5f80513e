// Products of codes without intrinsics: any processor; also the home of what the instruction sets share.
#include "gram/gram.hpp"
#include "gram/table.hpp"

namespace nanogram::gram {

namespace {

constexpr TritTables make_trit_tables() {
  TritTables tables{};
  for (int byte = 0; byte < 256; ++byte) {
    int rest = byte, fields = 0;
    for (int t = 0; t < 5; ++t, rest /= 3) fields |= (rest % 3) << (2 * t);
    tables.first[byte] = static_cast<std::uint8_t>(fields & 255);
    tables.last[byte] = static_cast<std::uint8_t>(fields >> 8);
  }
  return tables;
}

using i64 = std::int64_t;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

#include "gram/portable.hpp"

inline void byte_lines(const u32* const* tiles, u8 (*lines)[64]) { byte_lines_portable(tiles, lines); }
inline void bit_lines(const u8* line, u64* bits) { bit_lines_portable(line, bits); }
inline void transpose_words(const u32* words, u32 (*by_row)[16]) { transpose_words_portable(words, by_row); }

// In arithmetic: without a flag for it the compiler would call a library function for each word.
inline u64 popcount(u64 x) {
  x -= (x >> 1) & 0x5555555555555555ull;
  x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
  x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
  return (x * 0x0101010101010101ull) >> 56;
}

inline u64 word_of(const u8* line, int w) {
  u64 word;
  __builtin_memcpy(&word, line + 8 * w, 8);
  return word;
}

inline u64 popcount_line(const u8* a, const u8* b) {
  u64 count = 0;
  for (int w = 0; w < 8; ++w) count += popcount(word_of(a, w) & word_of(b, w));
  return count;
}

#include "gram/flush.hpp"
#include "gram/pack.hpp"

inline i64 dot_bytes(const u8* a, const u8* b) {
  u32 sum = 0;
  for (int i = 0; i < line_bytes; ++i) sum += static_cast<u32>(a[i]) * b[i];
  return sum;
}

template <Format format>
inline i64 dot_line(const u8* a, const u8* b) {
  if constexpr (format == Format::bits) return static_cast<i64>(popcount_line(a, b));
  if constexpr (format == Format::ternary) {
    i64 sum = 0;
    for (int w = 0; w < 8; ++w) {
      const u64 both = word_of(a, w) & word_of(b, w);
      const u64 apart = both & (word_of(a + plane_bytes, w) ^ word_of(b + plane_bytes, w));
      sum += static_cast<i64>(popcount(both)) - 2 * static_cast<i64>(popcount(apart));
    }
    return sum;
  }
  if constexpr (format == Format::pairs)
    return dot_bytes(a, b) + 256 * (dot_bytes(a, b + plane_bytes) + dot_bytes(a + plane_bytes, b)) +
           65536 * dot_bytes(a + plane_bytes, b + plane_bytes);
  return dot_bytes(a, b);
}

template <Format format>
void multiply_as(const BlockJob& job) {
  sweep<1>(job, planes_of[static_cast<int>(format)], [](const u8* a, const u8* b, i64 steps, i64 step_bytes, i64* to) {
    i64 sums[4] = {0, 0, 0, 0};
    for (i64 s = 0; s < steps; ++s, a += step_bytes, b += step_bytes)
      for (int j = 0; j < 4; ++j) sums[j] += dot_line<format>(a, b + j * line_bytes);
    for (int j = 0; j < 4; ++j) to[j] = sums[j];
  });
}

}  // namespace

constexpr TritTables trit_tables = make_trit_tables();

const Table table_generic = {
    &pack_columns,
    &pack_rows,
    &total,
    {&multiply_as<Format::bits>, &multiply_as<Format::ternary>, &multiply_as<Format::small>,
     &multiply_as<Format::bytes>, &multiply_as<Format::pairs>},
    &flush,
    &has_three,
    {0, 0, 0, 0, 0},
};

}  // namespace nanogram::gram
