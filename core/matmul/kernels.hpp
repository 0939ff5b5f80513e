// What the driver asks of an instruction set: two block kernels for each storage mode.
#pragma once

#include <cstdint>

#include "common/isa.hpp"

namespace nanogram {

// How the bytes of a word are read. The first six are the layouts of ops/layouts.py, in its order;
// `table4` reads layout u2 as three bit matrices (b0, b1, b0 & b1) for codes with four free levels.
enum class Mode : int { u1 = 0, u2 = 1, u4 = 2, u8 = 3, u16 = 4, t5 = 5, table4 = 6 };
inline constexpr int mode_count = 7;

inline constexpr int tile_rows = 16;

// A word yields `fields` x `planes` vectors of four bytes a row; plane sums are kept apart.
struct ModeShape {
  int fields;
  int planes;
  int columns_a_word;
  int largest;  // of a byte in a field
};
inline constexpr ModeShape mode_shapes[mode_count] = {{8, 1, 32, 1},  {4, 1, 16, 3}, {2, 1, 8, 15}, {1, 1, 4, 255},
                                                      {1, 2, 2, 255}, {5, 1, 20, 2}, {4, 3, 16, 1}};

// Column of byte b in field t of a word, -1 where the byte belongs to the plane of another byte (u16).
inline int column_in_word(Mode mode, int field, int byte) {
  if (mode == Mode::u16) return byte % 2 == 0 ? byte / 2 : -1;
  return byte * mode_shapes[static_cast<int>(mode)].fields + field;
}

// After the byte transpose of a backward kernel a lane holds one byte of the word for four rows, so the two bytes
// of a 16-bit code are two lanes of one plane.
constexpr int backward_planes(Mode mode) { return mode == Mode::u16 ? 1 : mode_shapes[static_cast<int>(mode)].planes; }

// Sums over `words` words of `row_groups` groups of 16 rows, for `digits` digit columns at once:
//   acc[plane][digit][16 * group + row] = sum_w sum_t bytes(tile[group], w, t, plane) . digit bytes(w, t, digit)
// with digit bytes as uint32 at digit_words[(w * fields + t) * digits + digit].
struct ForwardKernel {
  int digits;
  int row_groups;
  void (*run)(const std::uint32_t* const* tiles, std::int64_t words, const std::uint32_t* digit_words,
              std::int32_t* acc);
};

// Adds to acc[w][field][plane][digit][byte], planes as backward_planes says, the sums over the rows of `groups`
// consecutive groups:
//   acc += sum_rows byte(row, w, field, plane) * digit(row)
// `expanded` holds for each group and digit the 16 row digits as 4 x (4 rows repeated 4 times) bytes.
// Lines of the next rows are asked for ahead when `prefetch` is set.
struct BackwardKernel {
  int digits;
  void (*run)(const std::uint32_t* tiles, std::int64_t group_stride, std::int64_t words, int groups,
              const std::int8_t* expanded, std::int32_t* acc, bool prefetch);
};

inline constexpr int kernel_sizes = 6;
inline constexpr int digit_sizes[kernel_sizes] = {2, 3, 4, 6, 8, 10};

struct MatmulKernels {
  int most_digits[mode_count];  // largest useful entry of digit_sizes
  ForwardKernel forward[mode_count][kernel_sizes];
  BackwardKernel backward[mode_count][kernel_sizes];
};

extern const MatmulKernels matmul_kernels_generic;
#if NANOGRAM_X86
extern const MatmulKernels matmul_kernels_avx2;
extern const MatmulKernels matmul_kernels_avx512;
#endif

inline const MatmulKernels& matmul_kernels(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return matmul_kernels_avx512;
  if (isa == Isa::avx2) return matmul_kernels_avx2;
#endif
  (void)isa;
  return matmul_kernels_generic;
}

}  // namespace nanogram
