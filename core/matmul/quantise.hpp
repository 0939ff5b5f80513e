// Right-hand sides as integers: base-256 digits that the byte kernels can multiply (ops/reference.py, quantise).
#pragma once

#include <cstdint>
#include <vector>

namespace nanogram {

// A C-contiguous (length, columns) array of float or double, finite.
struct RightHandSide {
  const void* values;
  bool is_float32;
  std::int64_t length;
  std::int64_t columns;
  double tolerance2;
  int least_digits;
  int most_digits;
};

struct ColumnScale {
  double lift;     // exact power of two that keeps 1 / scale finite
  double largest;  // of the lifted magnitudes
};

struct ColumnNorm {
  std::int64_t norm2;  // of the two-digit integers
  std::int64_t nonzeros;
};

struct Quantiser {
  int n_digits;
  std::vector<ColumnScale> columns;
  std::vector<ColumnNorm> norms;
  bool keep;                       // whether choose_digits fills `kept`
  std::vector<std::int32_t> kept;  // the two-digit integers of all columns, one after the other, or none
};

// Takes the memory that choose_digits needs, so that it does not throw.
void reserve(const RightHandSide& rhs, Quantiser& quantiser);

// Looks at every column once and chooses the number of digits; false when a value is not finite.
bool choose_digits(const RightHandSide& rhs, Quantiser& quantiser);

// Digits of some columns: `digits[(column * n_digits + d) * stride + i]`, zero from `length` to `stride`.
struct DigitColumns {
  int n_digits;
  std::int64_t stride;
  std::vector<std::int8_t> digits;
  std::vector<std::int64_t> sums;  // of each digit column
  std::vector<double> scale;       // of each column
};

void take_digits(const RightHandSide& rhs, const Quantiser& quantiser, std::int64_t first_column, std::int64_t columns,
                 std::int64_t stride, DigitColumns& out);

// The same integers undivided, of at most three digits: `values[column * stride + i]`, zero from `length` to `stride`.
struct IntegerColumns {
  std::int64_t stride;
  std::vector<std::int32_t> values;
  std::vector<std::int64_t> sums;  // of each column
  std::vector<double> scale;
};

void take_integers(const RightHandSide& rhs, const Quantiser& quantiser, std::int64_t first_column,
                   std::int64_t columns, std::int64_t stride, IntegerColumns& out);

}  // namespace nanogram
