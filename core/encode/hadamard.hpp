// Rows to packed codes through fast Hadamard transforms in int16 row lanes. The specification is
// src/nanogram/ops/encode_reference.py; bits must agree. README.md tells how it is done.
#pragma once

#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nanogram {

enum class RowType : int { f32, f64, u8, i8, i16, u16, i32 };
inline constexpr int row_type_count = 7;

// n x p rows; with `grid` they are put on it, without they are int16 already on it.
struct EncodeRows {
  const void* data;
  RowType type;
  std::int64_t n, p;
  bool grid;
  const double* mu;
  double inv_grid;
  int limit;
};

enum class EpilogueKind : int { step, cosine, stochastic, periodic };

// What happens to a transformed value. Codes: base + sum_i delta[i] [value > threshold[i][column]], or a rounded
// cosine.
struct Epilogue {
  EpilogueKind kind;
  int layout;
  int n_thresholds;
  const std::int32_t* thresholds;  // (n_thresholds, m)
  const std::int64_t* codes;       // n_thresholds + 1
  int multiplier;
  const std::uint16_t* bias;  // m
  std::uint32_t key[4];       // of the rounding stream
};

// Blocks of `size` columns; signs are packed as Hadamard.hadamard_signs() gives them.
struct HadamardJob {
  EncodeRows rows;
  const std::uint32_t* signs;
  std::int64_t n_blocks;
  int rounds;
  std::int64_t size;
  std::int64_t m;
  Epilogue epilogue;
  std::uint32_t* words;  // first tile of row 0
};

// Adds to counts the clipped entries and the rows the guard shrank.
void encode_hadamard(Isa isa, const HadamardJob& job, std::int64_t counts[2], Interrupt& interrupt);

// Rows on the grid; adds the clipped entries to `clipped`.
void quantise_rows(Isa isa, const EncodeRows& rows, std::int16_t* out, std::int64_t& clipped, Interrupt& interrupt);

// ---------------------------------------------------------------- what the kernels get

// One pass over the values: a group of stages, or the same group of two rounds.
struct HadamardOp {
  int bit, stages;
  int source;  // 0: the input with its signs, 1: times `factor`, 2: times the table of round `table`
  bool twice;  // then times the table of round `second` and the stages again
  bool low;    // stays within a chunk
  int table, second;
  std::uint32_t factor;
};

// Numbers in pairs (int16 twice in a dword) are ready to be broadcast.
struct HadamardPlan {
  HadamardJob job;
  std::vector<HadamardOp> ops;
  int chunk_bits;
  std::vector<int> first_round;  // stages of the first round's groups in order, and their bits
  std::vector<int> first_bits;
  int most_stages;
  std::vector<std::uint32_t> places;  // [block][size]: the column, `size` further where round 0 turns the sign
  std::vector<std::uint32_t> tables;  // [block][rounds - 1][size], pairs
  std::vector<std::uint32_t> column_constants;  // [m][n_thresholds], or [m] biases, or both
  std::vector<std::uint32_t> weights;           // [n_thresholds][half word's columns] pairs
  std::vector<std::uint32_t> base;              // [columns of half a word + 1] pairs: base code in the first c columns
  int half;                                     // columns of half a word
};

struct EncodeKernels {
  int lanes;                                            // rows of a group
  std::int64_t (*workspace)(const HadamardPlan& plan);  // bytes
  // Encodes rows row .. row + n (n <= lanes, row a multiple of 16).
  void (*group)(const HadamardPlan& plan, std::int64_t row, int n, void* workspace, std::int64_t counts[2]);
  std::int64_t (*quantise)(const EncodeRows& rows, std::int64_t row, std::int64_t n, std::int16_t* out);
};

extern const EncodeKernels encode_generic;
extern const EncodeKernels encode_avx2;
extern const EncodeKernels encode_avx512;

}  // namespace nanogram
