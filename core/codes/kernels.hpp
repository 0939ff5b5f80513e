// What an instruction set provides: stretches of one row, and tiles of one row group. pack.cpp drives them.
#pragma once

#include <cstdint>

#include "common/isa.hpp"

namespace nanogram::codes {

// Row kernels work on at most this many words at a time; so many codes fit their buffers.
inline constexpr int stretch_words = 64;
inline constexpr int stretch_codes = stretch_words * 32;

struct Kernels {
  // Words lane[16 i], i < count, to count * per_word codes (uint16 for layout u16, uint8 for the others).
  void (*unpack)(int layout, const std::uint32_t* lane, int count, void* codes);
  // The other way. Codes beyond the layout are the caller's to find (largest8, largest16).
  void (*pack)(int layout, const void* codes, int count, std::uint32_t* lane);
  std::uint32_t (*largest8)(const std::uint8_t* codes, std::int64_t count);
  std::uint32_t (*largest16)(const std::uint16_t* codes, std::int64_t count);

  // Codes to floats: out[j] = levels[q[j]], or float(scale[j] * (q[j] - centre) + offset[j]) in double.
  void (*levels)(int layout, const void* codes, int count, const float* levels, float* out);
  void (*linear)(int layout, const void* codes, int count, const double* scale, double centre, const double* offset,
                 float* out);

  // One row group, `columns` given as indices of codes; every word of the target is written.
  void (*take_columns)(int layout, const std::uint32_t* group, const std::int64_t* columns, std::int64_t count,
                       std::uint32_t* target);
  // One row group of m codes to another layout; returns the largest code met.
  std::uint32_t (*convert)(int from, int to, const std::uint32_t* group, std::int64_t m, std::uint32_t* target);
  // u2 tiles to the u1 tiles of the low bits, the high bits and their conjunction.
  void (*split)(const std::uint32_t* group, std::int64_t columns, std::uint32_t* low, std::uint32_t* high,
                std::uint32_t* both);
  // sums[16]: of the codes in the first `columns` words of each row.
  void (*row_sums)(int layout, const std::uint32_t* group, std::int64_t columns, std::int64_t* sums);
  // sums[columns * per_word] grows by the sums over `groups` (at most 32768) row groups, `stride` words apart;
  // columns <= column_block(layout).
  void (*column_sums)(int layout, const std::uint32_t* group, std::int64_t groups, std::int64_t stride, int columns,
                      std::int64_t* sums);
};

// Words whose columns are summed together: 256 sums of 16 lanes each stay in the first-level cache.
inline constexpr int column_block(int per_word) { return 256 / per_word < 64 ? 256 / per_word : 64; }

extern const Kernels kernels_generic;
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;

inline const Kernels& kernels(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return kernels_avx512;
  if (isa == Isa::avx2) return kernels_avx2;
#endif
  (void)isa;
  return kernels_generic;
}

}  // namespace nanogram::codes
