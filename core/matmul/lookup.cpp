// What the look-up kernels share: tables, threads, sums to values. README.md, "One and two bits", has the arithmetic.
#include "matmul/lookup.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/threads.hpp"
#include "matmul/kernels.hpp"
#include "matmul/matmul.hpp"

namespace nanogram {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint8_t;

constexpr int64_t flush_words = int64_t{1} << 20;   // of 32-bit sums: at most 4 x 252 a word
constexpr int64_t panel_pairs = 2048;               // 65,536 rows: bounds the tables of a tall matrix
constexpr int64_t table_budget = int64_t{1} << 25;  // bytes of tables at a time

constexpr int64_t lookup_task = 32;  // words, or pairs of groups, whose tables are made at a time
constexpr int not_finite = -1;       // instead of a number of digits

// Four digits would not fit the integers of the tables.
bool is_looked_up(int n_digits) { return n_digits == 2 || n_digits == 3; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Uninitialised, at the start of a cache line.
class Lines {
 public:
  explicit Lines(std::size_t bytes) : memory_(new uint8_t[bytes + 63]) {}
  uint8_t* data() const { return memory_.get() + (64 - reinterpret_cast<std::uintptr_t>(memory_.get()) % 64) % 64; }

 private:
  std::unique_ptr<uint8_t[]> memory_;
};

bool has_table(const PackedCodes& codes) { return codes.table != nullptr; }
int bits_a_code(const PackedCodes& codes) { return codes.layout == static_cast<int>(Mode::u1) ? 1 : 2; }

struct Planes {
  int count;
  int index;  // of kernel tables
  int bits;
  int64_t table_bytes;
};
Planes planes_for(int n_digits) {
  const int count = n_digits + 1;
  return {count, count - lookup_planes_least, lookup_plane_bits[count], int64_t{count} * lookup_plane_bytes};
}

// totals[i] += sum_p 2^(bits p) sums[p * step + i], integers that doubles hold exactly (lookup_for).
void join(const int32_t* sums, int64_t step, const Planes& planes, int64_t count, double* totals) {
  const double unit = planes.bits == 6 ? 64.0 : 128.0;
  if (planes.count == 3) {
    for (int64_t i = 0; i < count; ++i) totals[i] += (sums[2 * step + i] * unit + sums[step + i]) * unit + sums[i];
  } else {
    for (int64_t i = 0; i < count; ++i)
      totals[i] += ((sums[3 * step + i] * unit + sums[2 * step + i]) * unit + sums[step + i]) * unit + sums[i];
  }
}

// The value of a sum of integers times codes (ops/reference.py, _combine: all of its doubles are integers below 2^53
// here, so the sums of digits may as well be added first).
inline double value_of(double zero2, double sum, double total, double scale) {
  return (2.0 * sum - zero2 * total) * (scale * 0.5);
}
inline double value_of(const double* t, double low, double high, double both, double total, double scale) {
  return (((t[0] * total + (t[1] - t[0]) * low) + (t[2] - t[0]) * high) + ((t[3] - t[2]) - (t[1] - t[0])) * both) *
         scale;
}

// ---------------------------------------------------------------- Z V

// The weights of a word's bits in one table column: of four free levels `part` 0, 1, 2 is b0, b1, b0 & b1.
void weights_of(const PackedCodes& codes, const int32_t* values, int part, int32_t* weights) {
  if (bits_a_code(codes) == 1) {
    std::copy(values, values + 32, weights);
  } else if (!has_table(codes)) {
    for (int i = 0; i < 16; ++i) {
      weights[2 * i] = values[i];
      weights[2 * i + 1] = 2 * values[i];
    }
  } else {
    for (int i = 0; i < 16; ++i) {
      weights[2 * i] = part == 1 ? 0 : values[i];
      weights[2 * i + 1] = part == 1 ? values[i] : 0;
    }
  }
}

// What a call brings along: the integers of all columns, or how to make them once threads are on their way.
template <class Prepare>
int forward(const LookupKernels& kernels, const PackedCodes& codes, Prepare&& prepare, const IntegerColumns& rhs,
            int64_t columns, const Result& out, Interrupt& interrupt) {
  const int parts = has_table(codes) ? 3 : 1;
  const int64_t per_word = 32 / bits_a_code(codes);
  const int64_t words = ceil_div(codes.columns, per_word);
  const int64_t groups = ceil_div(codes.rows, tile_rows);
  const int64_t table_columns = columns * parts;
  // With one column a kernel may read the codes row after row; else the tables of a few words at a time stay in
  // the first-level cache while several blocks of rows pass.
  const int64_t chunk = table_columns == 1 ? kernels.words : lookup_words;
  const int64_t blocks = chunk > lookup_words ? 1 : 16 / kernels.row_groups;
  const int64_t lanes = kernels.row_groups * tile_rows;
  const int64_t most_sums = table_columns * lookup_planes_most * lanes;
  const int64_t steps = ceil_div(groups, blocks * kernels.row_groups);
  const int64_t tasks = table_columns * ceil_div(words, lookup_task);

  const Lines tables(static_cast<std::size_t>(table_columns * words * lookup_planes_most * lookup_plane_bytes));
  std::vector<int64_t> least(static_cast<std::size_t>(table_columns));
  std::vector<int32_t> all_sums(static_cast<std::size_t>(max_threads() * blocks * most_sums));
  std::vector<double> all_totals(static_cast<std::size_t>(max_threads() * table_columns * blocks * lanes));
  std::atomic<int> digits{0};
  std::atomic<int64_t> tables_made{0};

#pragma omp parallel
  {
    if (thread_index() == 0) digits.store(prepare(), std::memory_order_release);
    wait_until([&] { return digits.load(std::memory_order_acquire) != 0; });
    const int n_digits = digits.load(std::memory_order_relaxed);
    if (is_looked_up(n_digits)) {
      const Planes planes = planes_for(n_digits);
      const int64_t column_stride = words * planes.table_bytes;
      const int64_t block_sums = table_columns * planes.count * lanes;
#pragma omp for schedule(dynamic, 1) nowait
      for (int64_t task = 0; task < tasks; ++task) {
        const int64_t column = task % table_columns, first = task / table_columns * lookup_task;
        const int part = static_cast<int>(column % parts);
        int64_t sum = 0;
        for (int64_t w = first; w < std::min(words, first + lookup_task); ++w) {
          int32_t weights[32];
          int64_t lowest;
          weights_of(codes, rhs.values.data() + column / parts * rhs.stride + w * per_word, part, weights);
          kernels.build(weights, planes.count, part == 2,
                        tables.data() + column * column_stride + w * planes.table_bytes, &lowest);
          sum += lowest;
        }
#pragma omp atomic
        least[static_cast<std::size_t>(column)] += sum;
        tables_made.fetch_add(1, std::memory_order_release);
      }
      // No barrier: a thread that is still on its way need not be waited for.
      wait_until([&] { return tables_made.load(std::memory_order_acquire) == tasks; });

      int32_t* const sums = all_sums.data() + thread_index() * blocks * most_sums;
      double* const totals = all_totals.data() + thread_index() * table_columns * blocks * lanes;
#pragma omp for schedule(dynamic, 4)
      for (int64_t step = 0; step < steps; ++step) {
        if (thread_index() == 0 ? interrupt.check() : interrupt.stopped()) continue;
        const int64_t first = step * blocks * kernels.row_groups;
        const int64_t used = std::min(blocks, ceil_div(groups - first, kernels.row_groups));
        for (int64_t column = 0; column < table_columns; ++column)
          std::fill_n(totals + column * blocks * lanes, blocks * lanes,
                      static_cast<double>(least[static_cast<std::size_t>(column)]));
        for (int64_t begin = 0; begin < words; begin += flush_words) {
          const int64_t end = std::min(words, begin + flush_words);
          std::fill_n(sums, blocks * block_sums, 0);
          for (int64_t w = begin; w < end; w += chunk)
            for (int64_t block = 0; block < used; ++block) {
              const uint32_t* tiles[4];
              // A block that runs past the last group reads that group again and drops the result.
              for (int g = 0; g < kernels.row_groups; ++g)
                tiles[g] = codes.words +
                           (std::min(first + block * kernels.row_groups + g, groups - 1) * words + w) * tile_rows;
              kernels.forward[planes.index](tiles, std::min(chunk, end - w), tables.data() + w * planes.table_bytes,
                                            column_stride, table_columns, sums + block * block_sums);
            }
          for (int64_t column = 0; column < table_columns; ++column)
            for (int64_t block = 0; block < used; ++block)
              join(sums + block * block_sums + column * planes.count * lanes, lanes, planes, lanes,
                   totals + (column * blocks + block) * lanes);
        }
        const int64_t rows = std::min(blocks * lanes, codes.rows - first * tile_rows);
        for (int64_t column = 0; column < columns; ++column) {
          double* const sum = totals + column * parts * blocks * lanes;
          const double total = static_cast<double>(rhs.sums[static_cast<std::size_t>(column)]);
          const double scale = rhs.scale[static_cast<std::size_t>(column)];
          if (parts == 1) {
            for (int64_t i = 0; i < rows; ++i) sum[i] = value_of(codes.zero2, sum[i], total, scale);
          } else {
            for (int64_t i = 0; i < rows; ++i)
              sum[i] =
                  value_of(codes.table, sum[i], sum[blocks * lanes + i], sum[2 * blocks * lanes + i], total, scale);
          }
          out.put(first * tile_rows * out.stride + column, out.stride, sum, rows);
        }
      }
    }
  }
  return digits.load();
}

// ---------------------------------------------------------------- Z^T R

template <class Prepare>
int backward(const LookupKernels& kernels, const PackedCodes& codes, Prepare&& prepare, const IntegerColumns& rhs,
             int64_t columns, const Result& out, Interrupt& interrupt) {
  const int parts = has_table(codes) ? 2 : 1;  // bits as they are, and pairs of set bits
  const int64_t per_word = 32 / bits_a_code(codes);
  const int64_t words = ceil_div(codes.columns, per_word);
  const int64_t groups = ceil_div(codes.rows, tile_rows);
  const int64_t all_pairs = ceil_div(groups, 2);
  const int64_t threads = max_threads();

  // A task is a strip of words over some of a panel's rows. Wide strips read memory in long runs; their sums stay in
  // the second-level cache.
  const int64_t strip = std::clamp<int64_t>(ceil_div(words, threads * 2), 16, 160);
  const int64_t strips = ceil_div(words, strip);
  const int64_t part_sums = words * 32 * columns;
  const int64_t most_sums = strip * columns * lookup_planes_most * 32;

  const Lines tables(
      static_cast<std::size_t>(columns * std::min(all_pairs, panel_pairs) * lookup_planes_most * lookup_plane_bytes));
  std::vector<int64_t> least(static_cast<std::size_t>(columns));
  std::vector<int32_t> all_sums(static_cast<std::size_t>(threads * most_sums));
  const Lines total_memory(static_cast<std::size_t>(parts * part_sums) * sizeof(double));
  double* const totals = reinterpret_cast<double*>(total_memory.data());  // [part][column][bit column]
  std::atomic<int> digits{0};
  std::atomic<int64_t> tables_made{0};

#pragma omp parallel
  {
    if (thread_index() == 0) {
      std::fill_n(totals, parts * part_sums, 0.0);
      digits.store(prepare(), std::memory_order_release);
    }
    wait_until([&] { return digits.load(std::memory_order_acquire) != 0; });
    const int n_digits = digits.load(std::memory_order_relaxed);
    if (is_looked_up(n_digits)) {
      const Planes planes = planes_for(n_digits);
      const int64_t column_stride = std::min(all_pairs, panel_pairs) * planes.table_bytes;
      const int64_t word_sums = columns * planes.count * 32;
      int32_t* const sums = all_sums.data() + thread_index() * most_sums;
      int64_t tables_wanted = 0;
      for (int64_t start = 0; start < all_pairs; start += panel_pairs) {
        const int64_t pairs = std::min(panel_pairs, all_pairs - start);
        const int64_t tasks = columns * ceil_div(pairs, lookup_task);
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t task = 0; task < tasks; ++task) {
          const int64_t column = task % columns, first = task / columns * lookup_task;
          int64_t sum = 0;
          for (int64_t pair = first; pair < std::min(pairs, first + lookup_task); ++pair) {
            int64_t lowest;
            kernels.build(rhs.values.data() + column * rhs.stride + (start + pair) * 32, planes.count, false,
                          tables.data() + column * column_stride + pair * planes.table_bytes, &lowest);
            sum += lowest;
          }
#pragma omp atomic
          least[static_cast<std::size_t>(column)] += sum;
          tables_made.fetch_add(1, std::memory_order_release);
        }
        tables_wanted += tasks;
        wait_until([&] { return tables_made.load(std::memory_order_acquire) == tables_wanted; });

        const int64_t row_blocks = ceil_div(pairs, lookup_pairs);
        const int64_t cuts = std::clamp<int64_t>(8 * threads / strips, 1, row_blocks);
        const int64_t cut = ceil_div(row_blocks, cuts);
        // The barrier at its end keeps the tables until all have read them.
#pragma omp for schedule(dynamic, 1)
        for (int64_t task = 0; task < strips * cuts * parts; ++task) {
          const int64_t part = task / (strips * cuts);
          const int64_t first_word = task % strips * strip;
          const int64_t count = std::min(strip, words - first_word);
          const int64_t first_block = task / strips % cuts * cut;
          std::fill_n(sums, strip * word_sums, 0);
          for (int64_t block = first_block; block < std::min(row_blocks, first_block + cut); ++block) {
            if (thread_index() == 0 ? interrupt.check() : interrupt.stopped()) break;
            const int64_t pair = start + block * lookup_pairs;
            const int64_t here =
                std::min<int64_t>(lookup_pairs * 2, std::min(start + pairs, pair + lookup_pairs) * 2 - pair * 2);
            const int used = static_cast<int>(std::min(here, groups - 2 * pair));
            const bool more = 2 * pair + 4 * lookup_pairs <= groups;
            kernels.backward_run[planes.index][part](
                codes.words + (2 * pair * words + first_word) * tile_rows, words * tile_rows, count, used,
                tables.data() + block * lookup_pairs * planes.table_bytes, column_stride, columns, sums, more);
          }
          // In any order: the sums are exact.
#pragma omp critical(nanogram_lookup_backward)
          for (int64_t column = 0; column < columns; ++column)
            for (int64_t w = 0; w < count; ++w)
              join(sums + w * word_sums + column * planes.count * 32, 32, planes, 32,
                   totals + part * part_sums + (column * words + first_word + w) * 32);
        }
      }

#pragma omp for schedule(static)
      for (int64_t w = 0; w < words; ++w)
        for (int64_t column = 0; column < columns; ++column) {
          const double low = static_cast<double>(least[static_cast<std::size_t>(column)]);
          const double* const sum = totals + (column * words + w) * 32;
          const double total = static_cast<double>(rhs.sums[static_cast<std::size_t>(column)]);
          const double scale = rhs.scale[static_cast<std::size_t>(column)];
          double values[32];
          const int64_t used = std::min(per_word, codes.columns - w * per_word);
          for (int64_t j = 0; j < used; ++j) {
            if (bits_a_code(codes) == 1)
              values[j] = value_of(codes.zero2, sum[j] + low, total, scale);
            else if (!has_table(codes))
              values[j] = value_of(codes.zero2, sum[2 * j] + 2.0 * sum[2 * j + 1] + 3.0 * low, total, scale);
            else
              values[j] = value_of(codes.table, sum[2 * j] + low, sum[2 * j + 1] + low, sum[part_sums + 2 * j] + low,
                                   total, scale);
          }
          out.put(w * per_word * out.stride + column, out.stride, values, used);
        }
    }
  }
  return digits.load();
}

// Serial preparation beside threads that are still waking up; larger right-hand sides are prepared by all threads
// first.
constexpr int64_t most_prepared_inside = 65536;
constexpr int64_t most_columns = 24;  // at a time

}  // namespace

const LookupKernels* lookup_for(const PackedCodes& codes, const RightHandSide& rhs, bool transposed, Isa isa) {
  const LookupKernels* const kernels = lookup_kernels(isa);
  if (kernels == nullptr || (transposed && !kernels->backward)) return nullptr;
  if (codes.layout != static_cast<int>(Mode::u1) && codes.layout != static_cast<int>(Mode::u2)) return nullptr;
  // With several columns the dot products of AVX-512 are the faster ones for two bits.
  if (isa == Isa::avx512 && codes.layout == static_cast<int>(Mode::u2) && codes.table == nullptr && rhs.columns > 3)
    return nullptr;
  // Sums of more products might not be exact in double (value_of).
  return rhs.length > int64_t{1} << 26 ? nullptr : kernels;
}

LookupOutcome lookup_product(const LookupKernels& kernels, const PackedCodes& codes, const RightHandSide& rhs,
                             Quantiser& quantiser, bool transposed, const Result& out, Interrupt& interrupt) {
  const int64_t padded = ceil_div(rhs.length, 32) * 32;
  IntegerColumns integers;
  const auto multiply = [&](int64_t first, int64_t count, auto&& prepare) {
    const Result part = out.from_column(first);
    return transposed ? backward(kernels, codes, prepare, integers, count, part, interrupt)
                      : forward(kernels, codes, prepare, integers, count, part, interrupt);
  };
  if (rhs.columns * padded <= most_prepared_inside && rhs.columns <= most_columns) {
    // Nothing may throw inside the parallel region: memory first.
    reserve(rhs, quantiser);
    integers.values.reserve(static_cast<std::size_t>(rhs.columns * padded));
    integers.sums.reserve(static_cast<std::size_t>(rhs.columns));
    integers.scale.reserve(static_cast<std::size_t>(rhs.columns));
    const int n_digits = multiply(0, rhs.columns, [&] {
      if (!choose_digits(rhs, quantiser)) return not_finite;
      if (is_looked_up(quantiser.n_digits)) take_integers(rhs, quantiser, 0, rhs.columns, padded, integers);
      return quantiser.n_digits;
    });
    if (n_digits == not_finite) return LookupOutcome::not_finite;
    return is_looked_up(n_digits) ? LookupOutcome::done : LookupOutcome::too_many_digits;
  }
  if (!choose_digits(rhs, quantiser)) return LookupOutcome::not_finite;
  const int n_digits = quantiser.n_digits;
  if (!is_looked_up(n_digits)) return LookupOutcome::too_many_digits;
  const int64_t column_bytes = (transposed ? std::min(padded, panel_pairs * 32) : padded * bits_a_code(codes)) / 32 *
                               planes_for(n_digits).table_bytes * (has_table(codes) && !transposed ? 3 : 1);
  const int64_t turn = std::clamp<int64_t>(table_budget / std::max<int64_t>(column_bytes, 1), 1, most_columns);
  for (int64_t column = 0; column < rhs.columns && !interrupt.stopped(); column += turn) {
    const int64_t count = std::min(turn, rhs.columns - column);
    take_integers(rhs, quantiser, column, count, padded, integers);
    multiply(column, count, [&] { return n_digits; });
  }
  return LookupOutcome::done;
}

}  // namespace nanogram
