// What this machine can do at most, measured: the denominators of the benchmarks.
#pragma once

#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nanogram {

struct MachineLimits {
  double dram_read_gbs;  // all threads reading memory that no cache holds
  double fp32_gflops;    // multiply-adds counted as two
  double int8_gops;      // byte dot products, multiply-adds counted as two
  double popcount_gops;  // bits of and + population count + add
};

// Loops of one instruction set that do `rounds` rounds of a fixed amount of work and return it in operations.
struct LimitLoops {
  double (*fp32)(long rounds);
  double (*int8)(long rounds);
  double (*popcount)(long rounds);
};

extern const LimitLoops limit_loops_generic;
#if NANOGRAM_X86
extern const LimitLoops limit_loops_avx2;
extern const LimitLoops limit_loops_avx512;
#endif

// Each of the four for about `seconds`, on all threads.
MachineLimits measure_limits(double seconds, Isa isa, Interrupt& interrupt);

}  // namespace nanogram
