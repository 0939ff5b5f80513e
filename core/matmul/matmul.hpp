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

// out (rows, rhs.columns) = Z V; false when a right-hand side is not finite.
bool matmul(const PackedCodes& codes, const RightHandSide& rhs, double* out, Isa isa, Interrupt& interrupt);

// out (columns, rhs.columns) = Z^T R; false when a right-hand side is not finite.
bool rmatmul(const PackedCodes& codes, const RightHandSide& rhs, double* out, Isa isa, Interrupt& interrupt);

// Look-ups instead (lookup.hpp), where an instruction set has them for these codes and right-hand sides: else null.
struct LookupKernels;
const LookupKernels* lookup_for(const PackedCodes& codes, const RightHandSide& rhs, int n_digits, bool transposed,
                                Isa isa);
void lookup_product(const LookupKernels& kernels, const PackedCodes& codes, const RightHandSide& rhs,
                    const Quantiser& quantiser, bool transposed, double* out, Interrupt& interrupt);

}  // namespace nanogram
