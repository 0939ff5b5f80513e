// Exact integer products of packed codes with packed codes: C^T D and C D^T (see README.md).
#pragma once

#include <cstdint>

#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nanogram::gram {

// One packed matrix: words of shape (ceil(rows / 16), ceil(columns / per_word), 16).
struct Packed {
  const std::uint32_t* words;
  std::int64_t rows;
  std::int64_t columns;
};

// Which dimension the sum runs over.
enum class Along { rows, columns };

struct Product {
  Packed a;
  Packed b;        // unused when symmetric
  bool symmetric;  // b is a: only the upper triangle is computed, then mirrored
  Along along;     // rows: C^T D; columns: C D^T
  int layout;      // index of src/nanogram/ops/layouts.py
  std::int64_t zero2;
  void* out;    // C-contiguous float or double, (vectors of a) x (vectors of b)
  bool single;  // out is float
};

inline constexpr int layout_count = 6;
inline constexpr std::int64_t codes_per_word[layout_count] = {32, 16, 8, 4, 2, 20};
inline constexpr std::int64_t largest_code[layout_count] = {1, 3, 15, 255, 65535, 2};
inline constexpr std::int64_t largest_zero2 = 2 * 65535;

// True when sums over `length` terms are sure to fit the 32-bit integers that share memory with a float output.
bool fits_single(int layout, std::int64_t length);

// True when they fit the 64-bit integers that share memory with a double output.
bool fits_double(int layout, std::int64_t length, std::int64_t zero2);

// Computes the product; the caller has checked shapes and ranges. Returns early when stopped.
void multiply(const Product& product, Isa isa, Interrupt& interrupt);

}  // namespace nanogram::gram
