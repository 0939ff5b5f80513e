#include "gram/gram.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "common/threads.hpp"
#include "gram/table.hpp"

namespace nanogram::gram {

namespace {

using i64 = std::int64_t;
using u64 = std::uint64_t;
using u8 = std::uint8_t;

// Bytes of a vector in a panel: eight of them (two groups) and four that stream by fit a first-level cache.
constexpr i64 vector_bytes = 2560;
// A panel holds at most this much; one panel alone (symmetric, all vectors at once) twice as much.
constexpr i64 panel_budget = i64{22} << 20;
// Packed panels start at vectors that are whole words in every layout and whole tiles of rows.
constexpr i64 vector_quantum = 160;
// Below this many bytes of work a team of threads costs more than it brings.
constexpr i64 bytes_worth_threads = i64{1} << 18;

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
i64 round_up(i64 a, i64 b) { return ceil_div(a, b) * b; }

const Table& table_of(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return table_avx512;
  if (isa == Isa::avx2) return table_avx2;
#endif
  static_cast<void>(isa);
  return table_generic;
}

struct FreeAligned {
  void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
};
template <typename T>
std::unique_ptr<T[], FreeAligned> allocate_aligned(i64 count) {
  return std::unique_ptr<T[], FreeAligned>(
      static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), std::align_val_t{64})));
}

// Runs work(index) for all indices below count on the team, unless the call is stopped.
template <typename Work>
void for_each(i64 count, bool threads, Interrupt& interrupt, const Work& work) {
#pragma omp parallel for schedule(dynamic) if (threads && count > 1)
  for (i64 index = 0; index < count; ++index) {
    if (thread_index() == 0 ? interrupt.check() : interrupt.stopped()) continue;
    work(index);
  }
}

// One call: how the sum is cut into chunks and the vectors into panels.
class Multiplication {
 public:
  Multiplication(const Product& product, Isa isa, Interrupt& interrupt)
      : product_(product), table_(table_of(isa)), interrupt_(interrupt) {
    const Packed& a = product.a;
    along_rows_ = product.along == Along::rows;
    vectors_a_ = along_rows_ ? a.columns : a.rows;
    vectors_b_ = product.symmetric ? vectors_a_ : along_rows_ ? product.b.columns : product.b.rows;
    length_ = along_rows_ ? a.rows : a.columns;
    format_ = choose_format();
    planes_ = planes_of[static_cast<int>(format_)];

    const i64 per_word = codes_per_word[product.layout];
    units_ = along_rows_ ? ceil_div(length_, 64) : ceil_div(ceil_div(length_, per_word), 16);
    unit_bytes_ = bytes_of_unit();
    const i64 quantum = line_bytes / std::gcd<i64>(line_bytes, unit_bytes_);
    units_ = round_up(std::max<i64>(units_, 1), quantum);
    const i64 most_units = std::max<i64>(vector_bytes / (planes_ * unit_bytes_) / quantum, 1) * quantum;
    chunk_units_ = round_up(ceil_div(units_, ceil_div(units_, most_units)), quantum);
    group_bytes_ = group_vectors * planes_ * chunk_units_ * unit_bytes_;

    offset2_ = 2 * (format_ == Format::ternary ? 1 : 0) - product.zero2;
    shift_ = table_.shift[static_cast<int>(format_)];
    const i64 bytes_a = ceil_div(vectors_a_, group_vectors) * group_bytes_;
    alone_ = product.symmetric && bytes_a <= 2 * panel_budget;
    const i64 fitting = panel_budget / group_bytes_ * group_vectors / vector_quantum * vector_quantum;
    panel_vectors_ = alone_ ? std::max<i64>(vectors_a_, 1) : std::max(fitting, vector_quantum);
  }

  void run() {
    if (vectors_a_ == 0 || vectors_b_ == 0) return;
    panel_a_ = make_panel(vectors_a_);
    if (!alone_) panel_b_ = make_panel(vectors_b_);
    if (offset2_ != 0 || shift_ != 0) {
      totals_a_.assign(static_cast<std::size_t>(vectors_a_), 0);
      if (!product_.symmetric) totals_b_.assign(static_cast<std::size_t>(vectors_b_), 0);
    }
    sums_ = allocate_aligned<i64>(i64{max_threads()} * block_vectors * block_stride);
    for (i64 unit = 0; unit < units_; unit += chunk_units_) {
      first_unit_ = unit;
      chunk_steps_ = std::min(chunk_units_, units_ - unit) * unit_bytes_ / line_bytes;
      for (i64 a = 0; a < vectors_a_; a += panel_vectors_) {
        pack(product_.a, vectors_a_, a, panel_a_.get(), product_.symmetric && a != 0 ? nullptr : &totals_a_);
        if (alone_) {
          multiply_panels(a, a, panel_a_.get());
          continue;
        }
        for (i64 b = product_.symmetric ? a : 0; b < vectors_b_; b += panel_vectors_) {
          const bool same = product_.symmetric && a == b;
          std::vector<i64>* totals = product_.symmetric ? &totals_a_ : &totals_b_;
          if (!same)
            pack(product_.symmetric ? product_.a : product_.b, vectors_b_, b, panel_b_.get(),
                 a == 0 ? totals : nullptr);
          multiply_panels(a, b, same ? panel_a_.get() : panel_b_.get());
          if (interrupt_.stopped()) return;
        }
      }
    }
  }

 private:
  i64 word_count(const Packed& matrix) const {
    return ceil_div(matrix.rows, 16) * ceil_div(matrix.columns, codes_per_word[product_.layout]) * 16;
  }

  // Two-bit codes may be four levels: only their words can tell.
  Format choose_format() const {
    switch (product_.layout) {
      case 0: return Format::bits;
      case 1:
        if (table_.has_three(product_.a.words, word_count(product_.a))) return Format::small;
        if (!product_.symmetric && table_.has_three(product_.b.words, word_count(product_.b))) return Format::small;
        return Format::ternary;
      case 2: return Format::small;
      case 3: return Format::bytes;
      case 4: return Format::pairs;
      default: return Format::ternary;
    }
  }

  // Bytes that a unit of a vector fills in each plane of its panel (PackJob).
  i64 bytes_of_unit() const {
    const bool planes_of_bits = format_ == Format::bits || format_ == Format::ternary;
    if (along_rows_) return planes_of_bits ? 8 : 64;
    const i64 codes = 16 * codes_per_word[product_.layout];
    return planes_of_bits ? codes / 8 : codes;
  }

  std::unique_ptr<u8[], FreeAligned> make_panel(i64 vectors) const {
    const i64 bytes = ceil_div(std::min(panel_vectors_, vectors), group_vectors) * group_bytes_;
    auto panel = allocate_aligned<u8>(bytes);
    // Vectors that pad the last group are multiplied too (and dropped): their memory must hold something.
    std::memset(panel.get(), 0, static_cast<std::size_t>(bytes));
    return panel;
  }

  // Packs the vectors from `first` on; adds their sums of codes to `totals` if wanted.
  void pack(const Packed& matrix, i64 vectors, i64 first, u8* panel, std::vector<i64>* totals) {
    const i64 count = std::min(panel_vectors_, vectors - first);
    const i64 per_word = codes_per_word[product_.layout];
    const i64 units = chunk_steps_ * line_bytes / unit_bytes_;
    PackJob job{};
    job.words = matrix.words;
    job.rows = matrix.rows;
    job.columns = matrix.columns;
    job.word_columns = ceil_div(matrix.columns, per_word);
    job.layout = product_.layout;
    job.format = format_;
    job.panel = panel;
    job.group_bytes = group_bytes_;
    job.first_vector = first;
    job.vectors = round_up(count, group_vectors);
    job.first_unit = first_unit_;

    // A piece: some words (or tiles) across, some units along.
    const i64 per_piece = along_rows_ ? per_word : 16;
    const i64 across0 = first / per_piece, across1 = ceil_div(first + count, per_piece);
    const i64 width = along_rows_ ? 8 : 1, depth = along_rows_ ? 32 : 64;
    const i64 pieces_along = ceil_div(units, depth);
    const bool threads = count * group_bytes_ / group_vectors >= bytes_worth_threads;
    for_each(ceil_div(across1 - across0, width) * pieces_along, threads, interrupt_, [&](i64 piece) {
      const i64 from = across0 + piece / pieces_along * width, to = std::min(from + width, across1);
      const i64 unit = piece % pieces_along * depth, end = std::min(unit + depth, units);
      (along_rows_ ? table_.pack_columns : table_.pack_rows)(job, from, to, unit, end);
    });
    if (totals == nullptr || totals->empty()) return;
    const i64 groups = job.vectors / group_vectors, groups_a_piece = 16;
    for_each(ceil_div(groups, groups_a_piece), threads, interrupt_, [&](i64 piece) {
      for (i64 group = piece * groups_a_piece; group < std::min((piece + 1) * groups_a_piece, groups); ++group) {
        i64 sums[group_vectors] = {};
        table_.total(format_, panel + group * group_bytes_, chunk_steps_, sums);
        for (i64 v = 0; v < std::min<i64>(group_vectors, count - group * group_vectors); ++v)
          (*totals)[static_cast<std::size_t>(first + group * group_vectors + v)] += sums[v];
      }
    });
  }

  // All blocks of results of one panel with another.
  void multiply_panels(i64 first_a, i64 first_b, const u8* panel_b) {
    const bool triangle = product_.symmetric && first_a == first_b;
    const i64 count_a = std::min(panel_vectors_, vectors_a_ - first_a);
    const i64 count_b = std::min(panel_vectors_, vectors_b_ - first_b);
    // Smaller blocks where large ones would leave threads without work.
    i64 side = block_vectors;
    while (side > 16 && ceil_div(count_a, side) * ceil_div(count_b, side) < 8 * i64{max_threads()}) side /= 2;
    const i64 blocks_b = ceil_div(count_b, side);
    const bool threads = count_a * count_b / 64 * (group_bytes_ / group_vectors) >= bytes_worth_threads;
    const std::vector<i64>& totals_b = product_.symmetric ? totals_a_ : totals_b_;
    for_each(ceil_div(count_a, side) * blocks_b, threads, interrupt_, [&](i64 block) {
      const i64 a = block / blocks_b * side, b = block % blocks_b * side;
      if (triangle && b < a) return;
      const int rows = static_cast<int>(std::min(side, count_a - a));
      const int columns = static_cast<int>(std::min(side, count_b - b));
      BlockJob job{};
      job.a = panel_a_.get() + a / group_vectors * group_bytes_;
      job.b = panel_b + b / group_vectors * group_bytes_;
      job.group_bytes = group_bytes_;
      job.steps = chunk_steps_;
      job.groups_a = (rows + group_vectors - 1) / group_vectors;
      job.groups_b = (columns + group_vectors - 1) / group_vectors;
      job.triangle = triangle && a == b;
      job.sums = sums_.get() + i64{thread_index()} * block_vectors * block_stride;
      table_.multiply[static_cast<int>(format_)](job);

      FlushJob flush{};
      flush.sums = job.sums;
      flush.rows = rows;
      flush.columns = columns;
      flush.triangle = job.triangle;
      flush.mirror = product_.symmetric;
      flush.first = first_unit_ == 0;
      flush.last = first_unit_ + chunk_units_ >= units_;
      flush.single = product_.single;
      flush.out = product_.out;
      flush.row = first_a + a;
      flush.column = first_b + b;
      flush.width = vectors_b_;
      if (!totals_a_.empty()) {
        flush.totals_a = totals_a_.data() + first_a + a;
        flush.totals_b = offset2_ != 0 ? totals_b.data() + first_b + b : nullptr;
      }
      flush.offset2 = static_cast<u64>(offset2_);
      flush.length = static_cast<u64>(length_);
      flush.shift = shift_;
      table_.flush(flush);
    });
  }

  const Product& product_;
  const Table& table_;
  Interrupt& interrupt_;
  bool along_rows_, alone_;
  i64 vectors_a_, vectors_b_, length_;
  Format format_;
  i64 planes_, units_, unit_bytes_, chunk_units_, group_bytes_, panel_vectors_;
  i64 offset2_;
  u64 shift_;
  i64 first_unit_ = 0, chunk_steps_ = 0;
  std::unique_ptr<u8[], FreeAligned> panel_a_, panel_b_;
  std::unique_ptr<i64[], FreeAligned> sums_;
  std::vector<i64> totals_a_, totals_b_;
};

}  // namespace

bool fits_single(int layout, i64 length) {
  const i64 largest = largest_code[layout];
  return length <= std::numeric_limits<std::int32_t>::max() / (largest * largest);
}

bool fits_double(int layout, i64 length, i64 zero2) {
  const i64 largest = std::max(2 * largest_code[layout] - zero2, zero2);
  return length <= std::numeric_limits<i64>::max() / (largest * largest + 1);
}

void multiply(const Product& product, Isa isa, Interrupt& interrupt) { Multiplication(product, isa, interrupt).run(); }

}  // namespace nanogram::gram
