#include <cstdint>

#include "limits/limits.hpp"

namespace nanogram {
namespace {

constexpr int chains = 32;

// Independent chains that a compiler may run side by side; volatile ends keep them from being folded away.
double fp32(long rounds) {
  volatile float seed = 1.0f;
  float sums[chains], factor = seed;
  for (float& sum : sums) sum = seed;
  for (long r = 0; r < rounds; ++r)
    for (float& sum : sums) sum = sum * factor + factor;
  for (float sum : sums) seed = sum;
  return 2.0 * chains * static_cast<double>(rounds);
}

double int8(long rounds) {
  volatile std::int32_t seed = 3;
  std::int32_t sums[chains];
  for (std::int32_t& sum : sums) sum = seed;
  for (long r = 0; r < rounds; ++r)
    for (std::int32_t& sum : sums) sum += static_cast<std::int16_t>(sum & 255) * static_cast<std::int16_t>(r & 127);
  for (std::int32_t sum : sums) seed = sum;
  return 2.0 * chains * static_cast<double>(rounds);
}

double popcount(long rounds) {
  volatile std::uint64_t seed = 0x123456789abcdefull;
  std::uint64_t sums[8];
  for (std::uint64_t& sum : sums) sum = seed;
  for (long r = 0; r < rounds; ++r)
    for (std::uint64_t& sum : sums) {
      std::uint64_t x = sum & static_cast<std::uint64_t>(r * 0x9e3779b97f4a7c15ull);
      x -= x >> 1 & 0x5555555555555555ull;
      x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
      x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
      sum += x * 0x0101010101010101ull >> 56;
    }
  for (std::uint64_t sum : sums) seed = sum;
  return 2.0 * 64.0 * 8.0 * static_cast<double>(rounds);
}

}  // namespace

const LimitLoops limit_loops_generic = {&fp32, &int8, &popcount};

}  // namespace nanogram
