// The kernels of kernels.hpp, written once and compiled at every instruction set: each including file has its own
// copy in an anonymous namespace, and nothing here comes from a shared template or inline function. Loops have fixed
// trip counts of 16 lanes or whole 64-bit words so that the compiler makes vectors of them.

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr int lanes = 16;
constexpr int layout_u1 = 0, layout_u2 = 1, layout_u4 = 2, layout_u8 = 3, layout_u16 = 4, layout_t5 = 5;
constexpr int per_word_of[6] = {32, 16, 8, 4, 2, 20};

// floor(byte / 3^d) = byte * reciprocal[d] >> 16 for every byte.
constexpr u32 reciprocal[5] = {65536, 21846, 7282, 2428, 810};
constexpr u32 power3[5] = {1, 3, 9, 27, 81};

#include "codes/rows.hpp"
#include "codes/tiles.hpp"

constexpr Kernels table = {unpack,       pack,    largest8, largest16, levels_of,  linear,
                           take_columns, convert, split,    row_sums,  column_sums};
