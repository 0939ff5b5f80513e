// Threefry 4x32-20 (Salmon, Moraes, Dror, Shaw 2011) for one counter, in a form that a loop over counters
// turns into vectors: straight-line add, rotate, xor, no table and no branch.
//
// Everything is in an anonymous namespace on purpose: each instruction set's translation unit must keep its
// own copy (docs/adr/0002). Include it in .cpp files that draw, never in a header that crosses units.
#pragma once

#include <cstdint>

namespace nanogram {
namespace {

struct Block {
  uint32_t x0, x1, x2, x3;
};

inline uint32_t rotate_left(uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }

// Two rounds, the second with the odd words exchanged; r0..r3 are Random123's rotation constants.
template <int r0, int r1, int r2, int r3>
inline void threefry_rounds(Block& b) {
  b.x0 += b.x1, b.x1 = rotate_left(b.x1, r0) ^ b.x0;
  b.x2 += b.x3, b.x3 = rotate_left(b.x3, r1) ^ b.x2;
  b.x0 += b.x3, b.x3 = rotate_left(b.x3, r2) ^ b.x0;
  b.x2 += b.x1, b.x1 = rotate_left(b.x1, r3) ^ b.x2;
}

inline Block threefry(Block b, Block key) {
  const uint32_t k4 = 0x1BD11BDAu ^ key.x0 ^ key.x1 ^ key.x2 ^ key.x3;
  const auto inject = [&b](uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t step) {
    b.x0 += a0, b.x1 += a1, b.x2 += a2, b.x3 += a3 + step;
  };
  inject(key.x0, key.x1, key.x2, key.x3, 0);
  threefry_rounds<10, 26, 11, 21>(b);
  threefry_rounds<13, 27, 23, 5>(b);
  inject(key.x1, key.x2, key.x3, k4, 1);
  threefry_rounds<6, 20, 17, 11>(b);
  threefry_rounds<25, 10, 18, 20>(b);
  inject(key.x2, key.x3, k4, key.x0, 2);
  threefry_rounds<10, 26, 11, 21>(b);
  threefry_rounds<13, 27, 23, 5>(b);
  inject(key.x3, k4, key.x0, key.x1, 3);
  threefry_rounds<6, 20, 17, 11>(b);
  threefry_rounds<25, 10, 18, 20>(b);
  inject(k4, key.x0, key.x1, key.x2, 4);
  threefry_rounds<10, 26, 11, 21>(b);
  threefry_rounds<13, 27, 23, 5>(b);
  inject(key.x0, key.x1, key.x2, key.x3, 5);
  return b;
}

// The counter of an entry's block: see docs/adr/0003.
inline Block entry_block(uint64_t row, uint32_t column_block, uint32_t draw, Block key) {
  return threefry({column_block, draw, static_cast<uint32_t>(row), static_cast<uint32_t>(row >> 32)}, key);
}

}  // namespace
}  // namespace nanogram
