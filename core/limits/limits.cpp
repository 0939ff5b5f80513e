#include "limits/limits.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "common/threads.hpp"

namespace nanogram {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Best rate of many short trials: a limit is what the machine does when nothing disturbs it.
template <class Trial>
double best_rate(double seconds, Interrupt& interrupt, Trial&& trial) {
  double best = 0.0;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    const double work = trial();
    best = std::max(best, work / seconds_since(start));
  } while (seconds_since(begin) < seconds && !interrupt.check());
  return best;
}

double on_all_threads(double (*loop)(long), long rounds) {
  double work = 0.0;
#pragma omp parallel reduction(+ : work)
  work += loop(rounds);
  return work;
}

double read_rate(double seconds, Interrupt& interrupt) {
  std::vector<std::uint64_t> memory(std::size_t{1} << 25, 1);  // 256 MiB, beyond the caches
  volatile std::uint64_t sink = 0;
  return best_rate(seconds, interrupt, [&] {
    std::uint64_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (std::size_t i = 0; i < memory.size(); ++i) total += memory[i];
    sink = total;
    return static_cast<double>(memory.size() * sizeof(memory[0]));
  });
}

const LimitLoops& loops_of(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return limit_loops_avx512;
  if (isa == Isa::avx2) return limit_loops_avx2;
#endif
  (void)isa;
  return limit_loops_generic;
}

}  // namespace

MachineLimits measure_limits(double seconds, Isa isa, Interrupt& interrupt) {
  const LimitLoops& loops = loops_of(isa);
  constexpr long rounds = 200000;
  const auto rate = [&](double (*loop)(long)) {
    return best_rate(seconds, interrupt, [&] { return on_all_threads(loop, rounds); }) * 1e-9;
  };
  MachineLimits limits{};
  limits.dram_read_gbs = read_rate(seconds, interrupt) * 1e-9;
  limits.fp32_gflops = rate(loops.fp32);
  limits.int8_gops = rate(loops.int8);
  limits.popcount_gops = rate(loops.popcount);
  return limits;
}

}  // namespace nanogram
