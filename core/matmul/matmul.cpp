#include "matmul/matmul.hpp"

#include <algorithm>
#include <vector>

#include "common/threads.hpp"
#include "matmul/kernels.hpp"

namespace nanogram {
namespace {

using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint32_t;

constexpr int64_t most_digit_columns = 40;  // taken side by side; more right-hand sides go in turns
// Sums of products of bytes stay below 2^31 for this many words (forward) or rows (backward) at a time:
// 4 bytes x 255 x 128 a word, 255 x 128 a row.
constexpr int64_t words_a_flush = 1024;
constexpr int64_t rows_a_flush = 32768;

Mode mode_of(const PackedCodes& codes) {
  return codes.table != nullptr ? Mode::table4 : static_cast<Mode>(codes.layout);
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How digit columns are dealt to kernels: `blocks` blocks of `size`, the last padded with zeros.
struct Blocks {
  int index;
  int64_t size;
  int64_t count;
};

Blocks deal(const MatmulKernels& kernels, Mode mode, int64_t digit_columns) {
  const int64_t most = kernels.most_digits[static_cast<int>(mode)];
  const int64_t count = ceil_div(digit_columns, most);
  const int64_t wanted = ceil_div(digit_columns, count);
  int index = 0;
  while (digit_sizes[index] < wanted) ++index;
  return {index, digit_sizes[index], count};
}

// Digit sums of `count` output elements of one column to their values, `lanes` elements at most. Plane p's sums of
// digit d, lowest digit first, lie at sums + place(p, d), element i `step` further for each i.
constexpr int64_t lanes_at_once = 64;

template <class Place>
void assemble(const PackedCodes& codes, Mode mode, const DigitColumns& rhs, int64_t column, const int64_t* sums,
              int64_t step, int64_t count, Place&& place, double* out, int64_t out_stride) {
  const int n_digits = rhs.n_digits;
  const int64_t* const totals = rhs.sums.data() + column * n_digits;
  const double scale = rhs.scale[static_cast<std::size_t>(column)];
  // sum_d 256^d part(d, i) in double, the highest digit first.
  const auto join = [&](double* total, auto&& part) {
    for (int d = n_digits - 1; d >= 0; --d)
      for (int64_t i = 0; i < count; ++i) {
        const double digit = static_cast<double>(part(d, i));
        total[i] = d == n_digits - 1 ? digit : total[i] * 256.0 + digit;
      }
  };
  double value[lanes_at_once];
  if (mode == Mode::table4) {
    double high[lanes_at_once], both[lanes_at_once];
    join(value, [&](int d, int64_t i) { return sums[place(0, d) + i * step]; });
    join(high, [&](int d, int64_t i) { return sums[place(1, d) + i * step]; });
    join(both, [&](int d, int64_t i) { return sums[place(2, d) + i * step]; });
    double all = static_cast<double>(totals[n_digits - 1]);
    for (int d = n_digits - 2; d >= 0; --d) all = all * 256.0 + static_cast<double>(totals[d]);
    const double* const t = codes.table;
    for (int64_t i = 0; i < count; ++i)
      out[i * out_stride] = (((t[0] * all + (t[1] - t[0]) * value[i]) + (t[2] - t[0]) * high[i]) +
                             ((t[3] - t[2]) - (t[1] - t[0])) * both[i]) *
                            scale;
    return;
  }
  if (mode == Mode::u16)
    join(value, [&](int d, int64_t i) {
      return 2 * (sums[place(0, d) + i * step] + 256 * sums[place(1, d) + i * step]) - codes.zero2 * totals[d];
    });
  else
    join(value, [&](int d, int64_t i) { return 2 * sums[place(0, d) + i * step] - codes.zero2 * totals[d]; });
  for (int64_t i = 0; i < count; ++i) out[i * out_stride] = value[i] * (scale * 0.5);
}

// Digits in the order in which a forward kernel meets the bytes of a row of words.
void arrange(const DigitColumns& rhs, Mode mode, int64_t words, int64_t length, const Blocks& blocks,
             int64_t digit_columns, std::vector<uint32_t>& arranged) {
  const ModeShape shape = mode_shapes[static_cast<int>(mode)];
  const int64_t block_words = words * shape.fields * blocks.size;
  arranged.assign(static_cast<std::size_t>(block_words * blocks.count), 0);
  auto* const bytes = reinterpret_cast<int8_t*>(arranged.data());
  for (int64_t k = 0; k < digit_columns; ++k) {
    const int8_t* const digits = rhs.digits.data() + k * rhs.stride;
    int8_t* const out = bytes + (k / blocks.size * block_words + k % blocks.size) * 4;
    for (int t = 0; t < shape.fields; ++t)
      for (int b = 0; b < 4; ++b) {
        const int column = column_in_word(mode, t, b);
        if (column < 0) continue;
        const int64_t used = std::min(words, ceil_div(length - column, shape.columns_a_word));
        int8_t* const place = out + t * blocks.size * 4 + b;
        for (int64_t w = 0; w < used; ++w)
          place[w * shape.fields * blocks.size * 4] = digits[w * shape.columns_a_word + column];
      }
  }
}

void forward(const PackedCodes& codes, const DigitColumns& rhs, int64_t columns, double* out, int64_t out_stride,
             Isa isa, Interrupt& interrupt) {
  const Mode mode = mode_of(codes);
  const ModeShape shape = mode_shapes[static_cast<int>(mode)];
  const MatmulKernels& kernels = matmul_kernels(isa);
  const int64_t digit_columns = columns * rhs.n_digits;
  const Blocks blocks = deal(kernels, mode, digit_columns);
  const ForwardKernel kernel = kernels.forward[static_cast<int>(mode)][blocks.index];
  const int64_t words = ceil_div(codes.columns, shape.columns_a_word);
  const int64_t groups = ceil_div(codes.rows, tile_rows);
  const int64_t steps = ceil_div(groups, kernel.row_groups);
  std::vector<uint32_t> arranged;
  arrange(rhs, mode, words, codes.columns, blocks, digit_columns, arranged);

  const int64_t lanes = kernel.row_groups * tile_rows;
  const int64_t block_sums = shape.planes * blocks.size * lanes;
  std::vector<int64_t> all_sums(static_cast<std::size_t>(max_threads() * blocks.count * block_sums));
  std::vector<int32_t> all_parts(static_cast<std::size_t>(max_threads() * block_sums));
#pragma omp parallel
  {
    int64_t* const sums = all_sums.data() + thread_index() * blocks.count * block_sums;
    int32_t* const part = all_parts.data() + thread_index() * block_sums;
#pragma omp for schedule(dynamic, 8)
    for (int64_t step = 0; step < steps; ++step) {
      if (thread_index() == 0 ? interrupt.check() : interrupt.stopped()) continue;
      const int64_t first = step * kernel.row_groups;
      const uint32_t* tiles[4];
      std::fill(sums, sums + blocks.count * block_sums, 0);
      for (int64_t w = 0; w < words; w += words_a_flush) {
        // A block that runs past the last group reads that group again and drops the result.
        for (int g = 0; g < kernel.row_groups; ++g)
          tiles[g] = codes.words + (std::min(first + g, groups - 1) * words + w) * tile_rows;
        for (int64_t block = 0; block < blocks.count; ++block) {
          const uint32_t* const digits = arranged.data() + (block * words + w) * shape.fields * blocks.size;
          kernel.run(tiles, std::min(words_a_flush, words - w), digits, part);
          int64_t* const total = sums + block * block_sums;
          for (int64_t i = 0; i < block_sums; ++i) total[i] += part[i];
        }
      }
      const int64_t rows = std::min(lanes, codes.rows - first * tile_rows);
      for (int64_t column = 0; column < columns; ++column) {
        const auto place = [&](int plane, int d) {
          const int64_t k = column * rhs.n_digits + d;
          return k / blocks.size * block_sums + (plane * blocks.size + k % blocks.size) * lanes;
        };
        assemble(codes, mode, rhs, column, sums, 1, rows, place, out + first * tile_rows * out_stride + column,
                 out_stride);
      }
    }
  }
}

constexpr int groups_a_block = 16;

// Row digits as the backward kernel multiplies them: 4 rows side by side, repeated for the 4 bytes of a word.
void expand(const DigitColumns& rhs, int64_t first_group, int groups, int64_t first_digit, int64_t digits,
            int64_t digit_columns, int8_t* expanded) {
  for (int g = 0; g < groups; ++g)
    for (int64_t d = 0; d < digits; ++d) {
      int8_t* const out = expanded + (g * digits + d) * 64;
      if (first_digit + d >= digit_columns) {
        std::fill(out, out + 64, int8_t{0});
        continue;
      }
      const int8_t* const in = rhs.digits.data() + (first_digit + d) * rhs.stride + (first_group + g) * tile_rows;
      for (int quad = 0; quad < 4; ++quad)
        for (int b = 0; b < 4; ++b) std::copy(in + 4 * quad, in + 4 * quad + 4, out + 16 * quad + 4 * b);
    }
}

void backward(const PackedCodes& codes, const DigitColumns& rhs, int64_t columns, double* out, int64_t out_stride,
              Isa isa, Interrupt& interrupt) {
  const Mode mode = mode_of(codes);
  const ModeShape shape = mode_shapes[static_cast<int>(mode)];
  const MatmulKernels& kernels = matmul_kernels(isa);
  const int64_t digit_columns = columns * rhs.n_digits;
  const Blocks blocks = deal(kernels, mode, digit_columns);
  const BackwardKernel kernel = kernels.backward[static_cast<int>(mode)][blocks.index];
  const int64_t words = ceil_div(codes.columns, shape.columns_a_word);
  const int64_t groups = ceil_div(codes.rows, tile_rows);
  const int64_t row_blocks = std::max<int64_t>(1, ceil_div(groups, groups_a_block));
  const int64_t threads = max_threads();

  // A task is a strip of words over all rows; narrow matrices are cut along the rows as well.
  const int64_t strip = std::clamp<int64_t>(ceil_div(words, threads * 8), 16, 64);
  const int64_t strips = ceil_div(words, strip);
  const int64_t cuts = strips >= 2 * threads ? 1 : std::clamp<int64_t>(4 * threads / strips, 1, row_blocks);
  const int64_t cut = ceil_div(row_blocks, cuts);

  const int planes = backward_planes(mode);
  const int64_t block_sums = shape.fields * planes * blocks.size * 4;  // of one word
  const int64_t word_sums = block_sums * blocks.count;
  std::vector<int64_t> shared(cuts > 1 ? static_cast<std::size_t>(strips * strip * word_sums) : 0);
  std::vector<int64_t> all_totals(static_cast<std::size_t>(threads * strip * word_sums));
  std::vector<int32_t> all_sums(static_cast<std::size_t>(threads * strip * word_sums));
  std::vector<int8_t> all_expanded(static_cast<std::size_t>(threads * groups_a_block * blocks.size * 64));

  const auto write = [&](int64_t first_word, int64_t count, const int64_t* totals) {
    for (int t = 0; t < shape.fields; ++t)
      for (int b = 0; b < 4; ++b) {
        const int inside = column_in_word(mode, t, b);
        if (inside < 0) continue;
        const int64_t first = first_word * shape.columns_a_word + inside;
        const int64_t used = std::min(count, ceil_div(codes.columns - first, shape.columns_a_word));
        for (int64_t column = 0; column < columns && used > 0; ++column) {
          const auto place = [&](int plane, int d) {
            const int64_t k = column * rhs.n_digits + d;
            const int64_t in_word = mode == Mode::u16 ? k % blocks.size * 4 + b + plane
                                                      : ((t * planes + plane) * blocks.size + k % blocks.size) * 4 + b;
            return k / blocks.size * strip * block_sums + in_word;
          };
          assemble(codes, mode, rhs, column, totals, block_sums, used, place, out + first * out_stride + column,
                   shape.columns_a_word * out_stride);
        }
      }
  };

#pragma omp parallel
  {
    int64_t* const totals = all_totals.data() + thread_index() * strip * word_sums;
    int32_t* const sums = all_sums.data() + thread_index() * strip * word_sums;
    int8_t* const expanded = all_expanded.data() + thread_index() * groups_a_block * blocks.size * 64;
#pragma omp for schedule(dynamic, 1)
    for (int64_t task = 0; task < strips * cuts; ++task) {
      const int64_t first_word = task % strips * strip;
      const int64_t count = std::min(strip, words - first_word);
      const int64_t last_block = std::min(row_blocks, (task / strips + 1) * cut);
      std::fill(totals, totals + strip * word_sums, 0);
      std::fill(sums, sums + strip * word_sums, 0);
      const auto flush = [&] {
        for (int64_t i = 0; i < strip * word_sums; ++i) totals[i] += sums[i];
        std::fill(sums, sums + strip * word_sums, 0);
      };
      int64_t rows_summed = 0;
      for (int64_t block = task / strips * cut; block < last_block; ++block) {
        if (thread_index() == 0 ? interrupt.check() : interrupt.stopped()) break;
        const int64_t first_group = block * groups_a_block;
        const int count_groups = static_cast<int>(std::min<int64_t>(groups_a_block, groups - first_group));
        const bool more = first_group + 2 * groups_a_block <= groups;
        for (int64_t k = 0; k < blocks.count; ++k) {
          expand(rhs, first_group, count_groups, k * blocks.size, blocks.size, digit_columns, expanded);
          kernel.run(codes.words + (first_group * words + first_word) * tile_rows, words * tile_rows, count,
                     count_groups, expanded, sums + k * strip * block_sums, more && k == 0);
        }
        rows_summed += groups_a_block * tile_rows;
        if (rows_summed + groups_a_block * tile_rows > rows_a_flush) {
          flush();
          rows_summed = 0;
        }
      }
      flush();
      if (cuts == 1) {
        write(first_word, count, totals);
      } else {
#pragma omp critical(nanogram_backward)
        for (int64_t i = 0; i < strip * word_sums; ++i)
          shared[static_cast<std::size_t>(task % strips * strip * word_sums + i)] += totals[i];
      }
    }
  }
  if (cuts > 1 && !interrupt.stopped())
    for (int64_t s = 0; s < strips; ++s)
      write(s * strip, std::min(strip, words - s * strip), shared.data() + s * strip * word_sums);
}

template <class Pass>
bool in_turns(const PackedCodes& codes, const RightHandSide& rhs, bool transposed, const Result& out, Isa isa,
              Interrupt& interrupt, Pass&& pass) {
  Quantiser quantiser;
  bool chosen = false;
  if (const LookupKernels* const kernels = lookup_for(codes, rhs, transposed, isa)) {
    const LookupOutcome outcome = lookup_product(*kernels, codes, rhs, quantiser, transposed, out, interrupt);
    if (outcome != LookupOutcome::too_many_digits) return outcome == LookupOutcome::done;
    chosen = true;
  }
  if (!chosen && !choose_digits(rhs, quantiser)) return false;
  const int64_t size = (transposed ? codes.columns : codes.rows) * rhs.columns;
  const bool direct = out.doubles != nullptr && out.factor == 1.0;
  std::vector<double> values(direct ? 0 : static_cast<std::size_t>(size));
  double* const to = direct ? out.doubles : values.data();
  const int64_t turn = most_digit_columns / quantiser.n_digits;
  const int64_t stride = ceil_div(rhs.length, tile_rows) * tile_rows;
  DigitColumns digits;
  for (int64_t column = 0; column < rhs.columns && !interrupt.stopped(); column += turn) {
    const int64_t count = std::min(turn, rhs.columns - column);
    take_digits(rhs, quantiser, column, count, stride, digits);
    pass(codes, digits, count, to + column, rhs.columns);
  }
  if (!direct) out.put(0, 1, values.data(), size);
  return true;
}

bool all_finite(const RightHandSide& rhs) {
  Quantiser quantiser;
  return choose_digits(rhs, quantiser);
}

}  // namespace

bool matmul(const PackedCodes& codes, const RightHandSide& rhs, const Result& out, Isa isa, Interrupt& interrupt) {
  if (codes.rows == 0 || rhs.columns == 0) return all_finite(rhs);
  return in_turns(codes, rhs, false, out, isa, interrupt, [&](auto&&... args) { forward(args..., isa, interrupt); });
}

bool rmatmul(const PackedCodes& codes, const RightHandSide& rhs, const Result& out, Isa isa, Interrupt& interrupt) {
  if (codes.columns == 0 || rhs.columns == 0) return all_finite(rhs);
  return in_turns(codes, rhs, true, out, isa, interrupt, [&](auto&&... args) { backward(args..., isa, interrupt); });
}

}  // namespace nanogram
