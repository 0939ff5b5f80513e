// The storage of codes: tiles of 16 rows x one 32-bit word (src/nanogram/ops/layouts.py is the contract).
#pragma once

#include <cstdint>

namespace nanogram::codes {

inline constexpr int rows_per_tile = 16;
inline constexpr int layout_count = 6;

// Fields by the index of the layout: u1, u2, u4, u8, u16, and t5 (five trits a byte).
struct Layout {
  int index;
  int per_word;
  std::int64_t n_codes;
  bool wide;  // unpacked codes are uint16 rather than uint8
};

inline constexpr Layout layouts[layout_count] = {
    {0, 32, 2, false}, {1, 16, 4, false}, {2, 8, 16, false}, {3, 4, 256, false}, {4, 2, 65536, true}, {5, 20, 3, false},
};

inline constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Words of n x m codes, row group by row group; a row is `lane(i)[16 * c]`, c = 0 .. columns - 1.
template <typename Word>
struct Matrix {
  Word* words;
  Layout layout;
  std::int64_t n;
  std::int64_t m;

  std::int64_t groups() const { return ceil_div(n, rows_per_tile); }
  std::int64_t columns() const { return ceil_div(m, layout.per_word); }
  Word* group(std::int64_t g) const { return words + g * columns() * rows_per_tile; }
  Word* lane(std::int64_t row) const { return group(row / rows_per_tile) + row % rows_per_tile; }
};

using Source = Matrix<const std::uint32_t>;
using Target = Matrix<std::uint32_t>;

}  // namespace nanogram::codes
