// Codes in and out of their storage: threaded over row groups, stoppable, the same on every instruction set.
#pragma once

#include <cstdint>

#include "codes/layout.hpp"
#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nanogram::codes {

// How codes become floats: `levels` by code where given, else scale (q - centre) + offset by column, in double.
struct Decoder {
  const float* levels = nullptr;
  const double* scale = nullptr;
  const double* offset = nullptr;
  double centre = 0.0;
};

// Both return the largest code met; the words mean something only when it is below the layout's n_codes.
template <typename Code>
std::uint32_t pack(const Code* codes, Target to, Isa isa, Interrupt& interrupt);
std::uint32_t convert(Source from, Target to, Isa isa, Interrupt& interrupt);

// Rows of `from`, all of them when `rows` is null (count is then n); out is (count, m) of the layout's code type.
void unpack(Source from, const std::int64_t* rows, std::int64_t count, void* out, Isa isa, Interrupt& interrupt);
template <typename Float>
void decode(Source from, const std::int64_t* rows, std::int64_t count, const Decoder& decoder, Float* out, Isa isa,
            Interrupt& interrupt);

// to.m columns of `from`, by their indices.
void take_columns(Source from, const std::int64_t* columns, Target to, Isa isa, Interrupt& interrupt);
void split_planes(Source from, Target low, Target high, Target both, Isa isa, Interrupt& interrupt);

void row_sums(Source from, std::int64_t* sums, Isa isa, Interrupt& interrupt);
void column_sums(Source from, std::int64_t* sums, Isa isa, Interrupt& interrupt);

}  // namespace nanogram::codes
