// Products of packed codes with few columns: Z V and Z^T R, exact in the quantised right-hand side.
#pragma once

#include <cstdint>

#include "common/interrupt.hpp"
#include "common/isa.hpp"
#include "matmul/quantise.hpp"

namespace nanogram {

// A packed matrix as ops/layouts.py stores it, and what its codes stand for: q - zero2 / 2, or table[q].
struct PackedCodes {
  const std::uint32_t* words;
  int layout;
  std::int64_t rows;
  std::int64_t columns;
  int zero2;
  const double* table;  // four levels of layout u2, or null
};

// Where a product goes: float or double, every value times `factor` first. Elements of a column are `stride` apart.
struct Result {
  double* doubles;  // or null
  float* floats;    // or null
  std::int64_t stride;
  double factor;

  Result from_column(std::int64_t column) const {
    return {doubles == nullptr ? nullptr : doubles + column, floats == nullptr ? nullptr : floats + column, stride,
            factor};
  }
  void put(std::int64_t first, std::int64_t step, const double* values, std::int64_t count) const {
    if (floats != nullptr) {
      for (std::int64_t i = 0; i < count; ++i) floats[first + i * step] = static_cast<float>(values[i] * factor);
    } else {
      for (std::int64_t i = 0; i < count; ++i) doubles[first + i * step] = values[i] * factor;
    }
  }
};

// out (rows, rhs.columns) = factor Z V; false when a right-hand side is not finite.
bool matmul(const PackedCodes& codes, const RightHandSide& rhs, const Result& out, Isa isa, Interrupt& interrupt);

// out (columns, rhs.columns) = factor Z^T R; false when a right-hand side is not finite.
bool rmatmul(const PackedCodes& codes, const RightHandSide& rhs, const Result& out, Isa isa, Interrupt& interrupt);

// Look-ups instead (lookup.hpp), where an instruction set has them for these codes and right-hand sides: else null.
struct LookupKernels;
const LookupKernels* lookup_for(const PackedCodes& codes, const RightHandSide& rhs, bool transposed, Isa isa);

enum class LookupOutcome { done, not_finite, too_many_digits };
// Chooses the digits too; nothing is written unless done.
LookupOutcome lookup_product(const LookupKernels& kernels, const PackedCodes& codes, const RightHandSide& rhs,
                             Quantiser& quantiser, bool transposed, const Result& out, Interrupt& interrupt);

}  // namespace nanogram
