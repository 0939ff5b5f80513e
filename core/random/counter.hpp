// The counter-based generator: entry (row, column) of a stream is a pure function of the stream's key
// (docs/adr/0003). The specification is src/nanogram/projections/_threefry.py; bits must agree.
#pragma once

#include <cstdint>

#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nanogram {

enum class Law : int { bits, uniform, normal32, normal64, cauchy32, cauchy64, sign, ternary };
inline constexpr int law_count = 8;

// Piecewise cubics of the inverse normal distribution function: 32 octaves of 32 segments, 4 coefficients.
inline constexpr int normal_segment_bits = 5;
inline constexpr int normal_segments = 32 << normal_segment_bits;

// One rectangle of draws. Entry (i, j) is row `rows[i]`, column `columns[j]` (or first_column + j when
// `columns` is null) and lands at out[i * n_columns + j]; columns stay below 2^34.
struct CounterJob {
  uint32_t key[4];
  uint32_t draw;
  const uint64_t* rows;
  int64_t n_rows;
  const uint64_t* columns;
  uint64_t first_column;
  int64_t n_columns;
  const double* normal_table;  // laws normal and cauchy
  uint32_t threshold;          // law ternary: non-zero when the word's low 31 bits are below it
  void* out;
};

// Fills the job's rectangle with OpenMP; stops early when `interrupt` says so.
void counter_fill(Isa isa, Law law, const CounterJob& job, Interrupt& interrupt);

// 64-bit content hash of each of n_rows rows of n_columns integers, taken as int32. T is int8, uint8, int16, uint16 or
// int32.
template <typename T>
void row_keys(Isa isa, const T* x, int64_t n_rows, int64_t n_columns, uint64_t* keys, Interrupt& interrupt);

// What one instruction set provides; each routine is single-threaded.
struct CounterKernels {
  using Fill = void (*)(const CounterJob&, int64_t row_begin, int64_t row_end, int64_t begin, int64_t end);
  template <typename T>
  using RowKeys = void (*)(const T* x, int64_t n_rows, int64_t n_columns, uint64_t* keys);
  Fill fill[law_count];
  RowKeys<int8_t> keys_i8;
  RowKeys<uint8_t> keys_u8;
  RowKeys<int16_t> keys_i16;
  RowKeys<uint16_t> keys_u16;
  RowKeys<int32_t> keys_i32;
};

extern const CounterKernels counter_generic;
extern const CounterKernels counter_avx2;
extern const CounterKernels counter_avx512;

}  // namespace nanogram
