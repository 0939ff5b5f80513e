// Encoders of integer rows by unstructured integer weights: exact int32 accumulators
//   acc[i, j] = sum_k x[i, k] w[j, k],
// then a code from each, written straight into tiles. The specification is
// src/nanogram/ops/encode_dense_reference.py; bits must agree.
#pragma once

#include <cstdint>

#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nanogram::dense {

inline constexpr int lanes = 16;  // rows of a tile, side by side in every kernel

// Integer rows, dense (n x p) or compressed (csr; columns of a row distinct).
struct Rows {
  const std::int16_t* dense;
  const std::int64_t* starts;
  const std::int32_t* indices;
  const std::int16_t* values;
  std::int64_t n;
  std::int64_t p;
};

enum class Path : int { sparse, table, gemm8, gemm16 };

// Weights as one path wants them; ops/encode_dense_layouts.py makes the arrays and says how they are laid out.
struct Weights {
  Path path;
  std::int64_t m;
  std::int64_t p;
  int most;                      // largest |x|
  int base;                      // table: 2 (signs) or 3 (trits)
  int digits;                    // table: weights an index holds
  const std::uint8_t* groups;    // table: indices [pass][column][8]
  const std::uint16_t* entries;  // sparse: byte offsets of lanes within a block of inputs
  const std::int64_t* starts;    // sparse: [block][column in order][2], fours of + and - from this entry on
  const std::int32_t* order;     // sparse: the column at each place of the order, chunk by chunk
  const std::int8_t* tiles8;     // gemm8: [block of 12 columns][input / 4][12][4]
  const std::int32_t* sums;      // gemm8: sum of each column's weights, padded to whole blocks
  const std::int16_t* tiles16;   // gemm16: [block of 12 columns][input / 2][12][2]
};

inline constexpr int table_pass = 8;       // indices of a column read at a time
inline constexpr int sparse_inputs = 896;  // inputs of a block: their lanes fill 28 KB
inline constexpr int sparse_chunk = 960;   // columns sorted together
inline constexpr int gemm_columns = 12;

enum class Kind : int { step, cosine, periodic };

// How an accumulator (or its cosine) becomes a code; see encode_dense_reference.py.
struct Epilogue {
  Kind kind;
  int steps;                       // thresholds
  const std::int32_t* thresholds;  // [steps][m], on the accumulator (step) or the cosine (periodic)
  const std::int32_t* deltas;      // [steps]
  std::int32_t first;              // code of the lowest interval
  std::uint32_t factor;            // phase32 = acc * factor + bias
  const std::uint32_t* bias;       // [m]
  bool pair;                       // output columns 2 j and 2 j + 1: cosine and sine
  int bits;
  bool stochastic;
  std::uint32_t key[4];
  const std::uint64_t* row_keys;  // [n]
};

struct Target {
  std::uint32_t* words;
  int layout;
  std::int64_t columns;    // codes of a row
  std::int64_t first_row;  // where row 0 goes
};

void encode(Isa isa, const Rows& rows, const Weights& weights, const Epilogue& epilogue, const Target& target,
            Interrupt& interrupt);

// ---------------------------------------------------------------- what one instruction set provides

// Constants of a layout's places: code j of a word counts factor[j].
struct Places {
  int per_word;
  std::uint32_t factor[32];
};

// Columns begin .. end of one row group: accumulators [column - begin][lanes] to words.
struct Finish {
  const Epilogue* epilogue;
  const Places* places;
  std::int64_t m;
  std::int64_t begin;
  std::int64_t end;
  const std::int32_t* acc;
  const std::uint32_t* key_low;  // row keys of the group's lanes
  const std::uint32_t* key_high;
  std::uint32_t* tiles;  // [word][lanes], from the word of column `begin` on
};

struct Kernels {
  void (*finish)(const Finish&);
  // Lanes [input][16] to accumulators of the columns begin .. end (whole chunks but the last).
  void (*sparse)(const Weights&, const std::int16_t* x, std::int64_t begin, std::int64_t end, std::int32_t* acc);
  void (*table)(const Weights&, const std::int16_t* x, std::int64_t begin, std::int64_t end, std::int16_t* tables,
                std::int32_t* acc);
  // Two row groups, x[g] = [input / 4][16][4] of x + 128 or [input / 2][16][2], to acc[g].
  void (*gemm8)(const Weights&, const std::uint8_t* const* x, std::int64_t begin, std::int64_t end,
                std::int32_t* const* acc);
  void (*gemm16)(const Weights&, const std::int16_t* const* x, std::int64_t begin, std::int64_t end,
                 std::int32_t* const* acc);
};

extern const Kernels kernels_generic;
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;

}  // namespace nanogram::dense
