// Blocks of Threefry 4x32-20 (random/threefry.hpp) for all rows of a group side by side.

typedef std::uint32_t Side __attribute__((vector_size(4 * side_lanes)));

// Keys of the rows, the words of rows i and i + side_lanes apart.
struct RowWords {
  Side low[2], high[2];
  explicit RowWords(const std::uint64_t* keys) {
    for (int h = 0; h < 2; ++h)
      for (int l = 0; l < side_lanes; ++l) {
        low[h][l] = static_cast<std::uint32_t>(keys[h * side_lanes + l]);
        high[h][l] = static_cast<std::uint32_t>(keys[h * side_lanes + l] >> 32);
      }
  }
};

// By reference: a vector wider than the instruction set's is no return value.
template <int by>
inline void rotate(Side& x) {
#ifdef __AVX512F__
  x = reinterpret_cast<Side>(_mm512_rol_epi32(reinterpret_cast<__m512i>(x), by));
#else
  x = (x << by) | (x >> (32 - by));
#endif
}

// Both halves of the rows in step: each waits for itself alone.
template <int r0, int r1, int r2, int r3>
inline __attribute__((always_inline)) void two_rounds(Side (*b)[4]) {
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    b[h][0] += b[h][1], rotate<r0>(b[h][1]), b[h][1] ^= b[h][0];
    b[h][2] += b[h][3], rotate<r1>(b[h][3]), b[h][3] ^= b[h][2];
    b[h][0] += b[h][3], rotate<r2>(b[h][3]), b[h][3] ^= b[h][0];
    b[h][2] += b[h][1], rotate<r3>(b[h][1]), b[h][1] ^= b[h][2];
  }
}

inline __attribute__((always_inline)) void inject(Side (*b)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                                  std::uint32_t a3) {
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) b[h][0] += a0, b[h][1] += a1, b[h][2] += a2, b[h][3] += a3;
}

// Blocks of eight columns for both halves.
struct Eights {
  std::uint32_t of[2];
};

// entry_block of draw 0 for each row: b[h][k] is word k of the rows of half h.
inline __attribute__((always_inline)) void entry_blocks(const RowWords& rows, Eights eights, const Block& key,
                                                        Side (*b)[4]) {
  const std::uint32_t k0 = key.x0, k1 = key.x1, k2 = key.x2, k3 = key.x3, k4 = 0x1BD11BDAu ^ k0 ^ k1 ^ k2 ^ k3;
  for (int h = 0; h < 2; ++h)
    b[h][0] = Side{} + eights.of[h], b[h][1] = Side{}, b[h][2] = rows.low[h], b[h][3] = rows.high[h];
  inject(b, k0, k1, k2, k3);
  two_rounds<10, 26, 11, 21>(b);
  two_rounds<13, 27, 23, 5>(b);
  inject(b, k1, k2, k3, k4 + 1);
  two_rounds<6, 20, 17, 11>(b);
  two_rounds<25, 10, 18, 20>(b);
  inject(b, k2, k3, k4, k0 + 2);
  two_rounds<10, 26, 11, 21>(b);
  two_rounds<13, 27, 23, 5>(b);
  inject(b, k3, k4, k0, k1 + 3);
  two_rounds<6, 20, 17, 11>(b);
  two_rounds<25, 10, 18, 20>(b);
  inject(b, k4, k0, k1, k2 + 4);
  two_rounds<10, 26, 11, 21>(b);
  two_rounds<13, 27, 23, 5>(b);
  inject(b, k0, k1, k2, k3 + 5);
}
