#include "codes/half.hpp"

#include <algorithm>
#include <cstring>

#include "common/threads.hpp"

namespace nanogram::codes {
namespace {

// The exponent's bias moves from 15 to 127 by an exact product, subnormal numbers included.
void widen_generic(const std::uint16_t* halves, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t half = halves[i];
    const std::uint32_t bits = (half & 0x7fffu) << 13;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    std::uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    wide |= (half & 0x8000u) << 16;
    if ((half & 0x7c00u) == 0x7c00u) wide |= 0x7f800000u;
    std::memcpy(out + i, &wide, sizeof wide);
  }
}

Widen widen_of(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return widen_avx512;
  if (isa == Isa::avx2) return widen_avx2;
#endif
  (void)isa;
  return &widen_generic;
}

}  // namespace

void widen(const std::uint16_t* halves, std::int64_t count, float* out, Isa isa, Interrupt& interrupt) {
  constexpr std::int64_t stretch = 1 << 16;
  const Widen run = widen_of(isa);
  const std::int64_t tasks = (count + stretch - 1) / stretch;
#pragma omp parallel for schedule(static) if (tasks > 1)
  for (std::int64_t task = 0; task < tasks; ++task) {
    if (thread_index() == 0 ? interrupt.check() : interrupt.stopped()) continue;
    const std::int64_t start = task * stretch;
    run(halves + start, std::min(stretch, count - start), out + start);
  }
}

}  // namespace nanogram::codes
