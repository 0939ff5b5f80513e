// float16 to float32, exactly.
#pragma once

#include <cstdint>

#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nanogram::codes {

// `halves` are the bits of the numbers.
void widen(const std::uint16_t* halves, std::int64_t count, float* out, Isa isa, Interrupt& interrupt);

// One stretch of it, by instruction set.
using Widen = void (*)(const std::uint16_t* halves, std::int64_t count, float* out);
#if NANOGRAM_X86
extern const Widen widen_avx2;
extern const Widen widen_avx512;
#endif

}  // namespace nanogram::codes
