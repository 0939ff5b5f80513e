// The generator's kernels, compiled once for each instruction set (counter_generic.cpp and its siblings).
// Plain loops of independent counters: the compiler lays 4, 8 or 16 of them side by side.
#pragma once

#include <cstdint>
#include <cstring>

#include "random/counter.hpp"
#include "random/threefry.hpp"

namespace nanogram {
namespace {

constexpr int lanes = 16;
// Words made at a time, so that words and results stay in the first-level cache.
constexpr int batch_words = 1024;
constexpr int batch_blocks = batch_words / 4;
// Narrower rectangles are laid end to end, lest half-filled groups of lanes cost more than the copying.
constexpr int64_t narrow_blocks = 64;

// ---------------------------------------------------------------- words

inline Block block_of(const uint32_t* p) { return {p[0], p[1], p[2], p[3]}; }

inline void store(uint32_t* out, Block b) { out[0] = b.x0, out[1] = b.x1, out[2] = b.x2, out[3] = b.x3; }

// Words of n consecutive blocks of one row; n is rounded up to whole groups of lanes.
inline void words_of_row(Block key, uint32_t draw, uint64_t row, uint32_t first, int n, uint32_t* __restrict out) {
  for (int group = 0; group < n; group += lanes)
    for (int l = 0; l < lanes; ++l)
      store(out + 4 * (group + l), entry_block(row, first + static_cast<uint32_t>(group + l), draw, key));
}

// Words of n arbitrary (row, block) pairs, rounded up likewise.
inline void words_of_pairs(Block key, uint32_t draw, const uint64_t* rows, const uint32_t* blocks, int n,
                           uint32_t* __restrict out) {
  for (int group = 0; group < n; group += lanes)
    for (int l = 0; l < lanes; ++l)
      store(out + 4 * (group + l), entry_block(rows[group + l], blocks[group + l], draw, key));
}

// One word for each of n (row, column) pairs whose columns have no pattern.
inline void words_of_entries(Block key, uint32_t draw, const uint64_t* rows, const uint64_t* columns, int n,
                             uint32_t* __restrict out) {
  for (int group = 0; group < n; group += lanes)
    for (int l = 0; l < lanes; ++l) {
      const uint64_t column = columns[group + l];
      const Block b = entry_block(rows[group + l], static_cast<uint32_t>(column >> 2), draw, key);
      const uint32_t low = column & 1 ? b.x1 : b.x0, high = column & 1 ? b.x3 : b.x2;
      out[group + l] = column & 2 ? high : low;
    }
}

// ---------------------------------------------------------------- laws

// 2^52 + t has t in its low mantissa bits: an exact conversion without an unsigned-to-double instruction.
inline double exact_double(uint32_t t) {
  return __builtin_bit_cast(double, 0x4330000000000000ull | t) - 4503599627370496.0;
}

// Inverse normal distribution function at (word + 1/2) / 2^32. The upper half mirrors the lower; the odd
// integer 2 t + 1 is the tail probability in units of 2^-33, and its double holds the segment's number in
// the exponent and the leading mantissa bits, the place within the segment in the rest.
inline double normal_of(uint32_t word, const double* table) {
  constexpr int shift = 52 - normal_segment_bits;
  constexpr uint64_t low_bits = (1ull << shift) - 1;
  const uint32_t tail = word ^ (0u - (word >> 31));
  const uint64_t bits = __builtin_bit_cast(uint64_t, exact_double(tail) * 2.0 + 1.0);
  const int64_t segment = static_cast<int64_t>(bits >> shift) - (int64_t{1023} << normal_segment_bits);
  const double r = __builtin_bit_cast(double, (bits & low_bits) | 0x3FF0000000000000ull) - 1.0;
  const double* c = table + 4 * segment;
  const double value = ((c[3] * r + c[2]) * r + c[1]) * r + c[0];
  const uint64_t flip = static_cast<uint64_t>(word >> 31) << 63;
  return __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, value) ^ flip);
}

struct Bits {
  using Out = uint32_t;
  static constexpr int draws = 1;
  static Out make(const CounterJob&, uint32_t w, uint32_t) { return w; }
};

struct Uniform {
  using Out = double;
  static constexpr int draws = 1;
  static Out make(const CounterJob&, uint32_t w, uint32_t) { return (exact_double(w) + 0.5) * 0x1p-32; }
};

template <typename T>
struct Normal {
  using Out = T;
  static constexpr int draws = 1;
  static Out make(const CounterJob& job, uint32_t w, uint32_t) {
    return static_cast<T>(normal_of(w, job.normal_table));
  }
};

template <typename T>
struct Cauchy {
  using Out = T;
  static constexpr int draws = 2;
  static Out make(const CounterJob& job, uint32_t w, uint32_t v) {
    return static_cast<T>(normal_of(w, job.normal_table) / normal_of(v, job.normal_table));
  }
};

struct Sign {
  using Out = int8_t;
  static constexpr int draws = 1;
  static Out make(const CounterJob&, uint32_t w, uint32_t) { return static_cast<int8_t>(1 - 2 * (int)(w >> 31)); }
};

struct Ternary {
  using Out = int8_t;
  static constexpr int draws = 1;
  static Out make(const CounterJob& job, uint32_t w, uint32_t) {
    const int sign = 1 - 2 * static_cast<int>(w >> 31);
    return static_cast<int8_t>((w & 0x7FFFFFFFu) < job.threshold ? sign : 0);
  }
};

template <typename L>
void apply(const CounterJob& job_in, const uint32_t* __restrict w, const uint32_t* __restrict v, int64_t n,
           typename L::Out* __restrict out) {
  // A local copy: the compiler need not fear that stores to `out` change the table's address.
  const CounterJob job = job_in;
  for (int64_t i = 0; i < n; ++i) out[i] = L::make(job, w[i], L::draws > 1 ? v[i] : 0u);
}

// ---------------------------------------------------------------- rectangles

// Columns first_column + begin .. end of each row, many blocks a row.
template <typename L>
void fill_wide(const CounterJob& job, int64_t row_begin, int64_t row_end, int64_t begin, int64_t end) {
  const Block key = block_of(job.key);
  auto* out = static_cast<typename L::Out*>(job.out);
  alignas(64) uint32_t words[2][batch_words];
  for (int64_t i = row_begin; i < row_end; ++i) {
    uint64_t column = job.first_column + static_cast<uint64_t>(begin);
    const uint64_t stop = job.first_column + static_cast<uint64_t>(end);
    auto* to = out + i * job.n_columns + begin;
    while (column < stop) {
      const auto skip = static_cast<int64_t>(column & 3);
      int64_t n = batch_words - skip;
      if (n > static_cast<int64_t>(stop - column)) n = static_cast<int64_t>(stop - column);
      for (int d = 0; d < L::draws; ++d)
        words_of_row(key, job.draw + static_cast<uint32_t>(d), job.rows[i], static_cast<uint32_t>(column >> 2),
                     static_cast<int>((skip + n + 3) / 4), words[d]);
      apply<L>(job, words[0] + skip, words[1] + skip, n, to);
      column += static_cast<uint64_t>(n);
      to += n;
    }
  }
}

// Few blocks a row, all columns: several rows make a batch, their words are then moved together.
template <typename L>
void fill_narrow(const CounterJob& job, int64_t row_begin, int64_t row_end) {
  const Block key = block_of(job.key);
  const auto skip = static_cast<int>(job.first_column & 3);
  const auto width = static_cast<int>(job.n_columns);
  const int blocks = (skip + width + 3) / 4;
  const auto first = static_cast<uint32_t>(job.first_column >> 2);
  const int most_rows = batch_blocks / blocks;
  auto* out = static_cast<typename L::Out*>(job.out);
  alignas(64) uint32_t words[2][batch_words];
  uint64_t rows[batch_blocks] = {};
  uint32_t block[batch_blocks] = {};
  for (int r = 0; r < most_rows; ++r)
    for (int b = 0; b < blocks; ++b) block[r * blocks + b] = first + static_cast<uint32_t>(b);
  for (int64_t i = row_begin; i < row_end; i += most_rows) {
    const int n = static_cast<int>(row_end - i < most_rows ? row_end - i : most_rows);
    for (int r = 0; r < n; ++r)
      for (int b = 0; b < blocks; ++b) rows[r * blocks + b] = job.rows[i + r];
    for (int d = 0; d < L::draws; ++d) {
      uint32_t* w = words[d];
      words_of_pairs(key, job.draw + static_cast<uint32_t>(d), rows, block, n * blocks, w);
      if (width == 1)
        for (int r = 0; r < n; ++r) w[r] = w[4 * r + skip];
      else if (width != 4 * blocks)
        for (int r = 0; r < n; ++r) memmove(w + r * width, w + 4 * r * blocks + skip, sizeof(uint32_t) * width);
    }
    apply<L>(job, words[0], words[1], int64_t{n} * width, out + i * width);
  }
}

// Columns by number: entries row_begin .. row_end laid end to end, a word each.
template <typename L>
void fill_scattered(const CounterJob& job, int64_t row_begin, int64_t row_end, int64_t begin, int64_t end) {
  const Block key = block_of(job.key);
  auto* out = static_cast<typename L::Out*>(job.out);
  alignas(64) uint32_t words[2][batch_blocks];
  uint64_t rows[batch_blocks] = {}, columns[batch_blocks] = {};
  int64_t places[batch_blocks];
  typename L::Out values[batch_blocks];
  int n = 0;
  const auto flush = [&] {
    for (int d = 0; d < L::draws; ++d)
      words_of_entries(key, job.draw + static_cast<uint32_t>(d), rows, columns, n, words[d]);
    apply<L>(job, words[0], words[1], n, values);
    for (int e = 0; e < n; ++e) out[places[e]] = values[e];
    n = 0;
  };
  for (int64_t i = row_begin; i < row_end; ++i)
    for (int64_t j = begin; j < end; ++j) {
      rows[n] = job.rows[i], columns[n] = job.columns[j], places[n] = i * job.n_columns + j;
      if (++n == batch_blocks) flush();
    }
  flush();
}

template <typename L>
void fill(const CounterJob& job, int64_t row_begin, int64_t row_end, int64_t begin, int64_t end) {
  if (job.columns != nullptr)
    fill_scattered<L>(job, row_begin, row_end, begin, end);
  else if (static_cast<int64_t>(job.first_column & 3) + job.n_columns <= 4 * narrow_blocks)
    fill_narrow<L>(job, row_begin, row_end);
  else
    fill_wide<L>(job, row_begin, row_end, begin, end);
}

// ---------------------------------------------------------------- row content

// "nanogram row" in little-endian words.
constexpr uint32_t content_key[3] = {0x6F6E616Eu, 0x6D617267u, 0x776F7220u};

// Adds to acc the blocks first .. first + n (n <= lanes) of a row; x must hold 64 readable elements.
template <typename T>
inline void absorb(const T* x, uint32_t first, int n, uint32_t (*__restrict acc)[4]) {
  for (int l = 0; l < lanes; ++l) {
    const Block data = {static_cast<uint32_t>(static_cast<int32_t>(x[4 * l])),
                        static_cast<uint32_t>(static_cast<int32_t>(x[4 * l + 1])),
                        static_cast<uint32_t>(static_cast<int32_t>(x[4 * l + 2])),
                        static_cast<uint32_t>(static_cast<int32_t>(x[4 * l + 3]))};
    const Block b = threefry(data, {first + static_cast<uint32_t>(l), content_key[0], content_key[1], content_key[2]});
    const uint32_t keep = 0u - static_cast<uint32_t>(l < n);
    acc[l][0] += b.x0 & keep, acc[l][1] += b.x1 & keep, acc[l][2] += b.x2 & keep, acc[l][3] += b.x3 & keep;
  }
}

template <typename T>
void row_keys_of(const T* x, int64_t n_rows, int64_t n_columns, uint64_t* keys) {
  const auto length = static_cast<uint64_t>(n_columns);
  for (int64_t i = 0; i < n_rows; ++i, x += n_columns) {
    alignas(64) uint32_t acc[lanes][4] = {};
    int64_t j = 0;
    for (; j + 4 * lanes <= n_columns; j += 4 * lanes) absorb(x + j, static_cast<uint32_t>(j / 4), lanes, acc);
    if (j < n_columns) {
      T rest[4 * lanes] = {};
      memcpy(rest, x + j, sizeof(T) * static_cast<size_t>(n_columns - j));
      absorb(rest, static_cast<uint32_t>(j / 4), static_cast<int>((n_columns - j + 3) / 4), acc);
    }
    uint32_t sum[4] = {};
    for (int l = 0; l < lanes; ++l)
      for (int w = 0; w < 4; ++w) sum[w] += acc[l][w];
    const Block b = threefry(block_of(sum), {static_cast<uint32_t>(length), static_cast<uint32_t>(length >> 32),
                                             content_key[1], content_key[2]});
    keys[i] = b.x0 | static_cast<uint64_t>(b.x1) << 32;
  }
}

constexpr CounterKernels kernels = {
    {&fill<Bits>, &fill<Uniform>, &fill<Normal<float>>, &fill<Normal<double>>, &fill<Cauchy<float>>,
     &fill<Cauchy<double>>, &fill<Sign>, &fill<Ternary>},
    &row_keys_of<int8_t>,
    &row_keys_of<uint8_t>,
    &row_keys_of<int16_t>,
    &row_keys_of<uint16_t>,
    &row_keys_of<int32_t>,
};

}  // namespace
}  // namespace nanogram
