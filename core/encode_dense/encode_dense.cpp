#include "encode_dense/encode_dense.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "codes/layout.hpp"
#include "common/threads.hpp"

namespace nanogram::dense {
namespace {

using codes::ceil_div;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint8_t;

// Bytes of lanes a task may hold, and row groups it takes at most: enough to reuse a chunk of weights in the cache.
constexpr int64_t task_bytes = int64_t{2} << 20;
constexpr int64_t most_groups = 8;
constexpr int64_t table_chunk = 3840;
constexpr int64_t gemm_chunk = 240;

const Kernels& kernels_of(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return kernels_avx512;
  if (isa == Isa::avx2) return kernels_avx2;
#endif
  (void)isa;
  return kernels_generic;
}

Places places_of(int layout) {
  Places places{codes::layouts[layout].per_word, {}};
  for (int j = 0; j < places.per_word; ++j) {
    if (layout == 5) {
      constexpr uint32_t power3[5] = {1, 3, 9, 27, 81};
      places.factor[j] = power3[j % 5] << (8 * (j / 5));
    } else {
      places.factor[j] = uint32_t{1} << (32 / places.per_word * j);
    }
  }
  return places;
}

// How a path wants the 16 rows of a group: bytes, and where number k of lane l lies.
struct LaneForm {
  int64_t bytes;
  int depth;       // numbers of a lane side by side
  bool byte_wide;  // x + 128 in a byte
  bool blocks;     // a row of zeros after every sparse_inputs inputs
};

LaneForm lane_form(const Weights& w) {
  switch (w.path) {
    case Path::sparse:
      return {std::max<int64_t>(1, ceil_div(w.p, sparse_inputs)) * (sparse_inputs + 1) * lanes * 2, 1, false, true};
    case Path::table: {
      const int64_t unit = static_cast<int64_t>(table_pass) * w.digits;
      return {std::max<int64_t>(1, ceil_div(w.p, unit)) * unit * lanes * 2, 1, false, false};
    }
    case Path::gemm8: return {std::max<int64_t>(1, ceil_div(w.p, 4)) * 4 * lanes, 4, true, false};
    default: return {std::max<int64_t>(1, ceil_div(w.p, 2)) * 2 * lanes * 2, 2, false, false};
  }
}

// Calls put(input, value) for the numbers of a row; zeros of a compressed one are left out.
template <typename Put>
void each_number(const Rows& rows, int64_t row, const Put& put) {
  if (rows.dense != nullptr) {
    const int16_t* x = rows.dense + row * rows.p;
    for (int64_t k = 0; k < rows.p; ++k) put(k, x[k]);
  } else {
    for (int64_t e = rows.starts[row]; e < rows.starts[row + 1]; ++e) put(rows.indices[e], rows.values[e]);
  }
}

// Row `first` + l goes to lane l; lanes outside the rows hold zeros.
void load_lanes(const Rows& rows, int64_t first, const LaneForm& form, char* to) {
  const bool whole = rows.dense != nullptr && first >= 0 && first + lanes <= rows.n;
  // Whole groups of dense rows overwrite all but the padding.
  (void)whole;
  std::memset(to, form.byte_wide ? 128 : 0, static_cast<size_t>(form.bytes));
  for (int l = 0; l < lanes; ++l) {
    const int64_t row = first + l;
    if (row < 0 || row >= rows.n) continue;
    if (form.byte_wide) {
      auto* x = reinterpret_cast<uint8_t*>(to) + 4 * l;
      each_number(rows, row,
                  [x](int64_t k, int16_t v) { x[k / 4 * 4 * lanes + k % 4] = static_cast<uint8_t>(v + 128); });
    } else if (form.depth == 2) {
      auto* x = reinterpret_cast<int16_t*>(to) + 2 * l;
      each_number(rows, row, [x](int64_t k, int16_t v) { x[k / 2 * 2 * lanes + k % 2] = v; });
    } else if (form.blocks) {
      auto* x = reinterpret_cast<int16_t*>(to) + l;
      each_number(rows, row, [x](int64_t k, int16_t v) { x[(k + k / sparse_inputs) * lanes] = v; });
    } else {
      auto* x = reinterpret_cast<int16_t*>(to) + l;
      each_number(rows, row, [x](int64_t k, int16_t v) { x[k * lanes] = v; });
    }
  }
}

// Memory of one thread, at addresses that are multiples of 64.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : memory_(new char[static_cast<size_t>(bytes) + 63]) {
    at_ = memory_.get() + (-reinterpret_cast<std::uintptr_t>(memory_.get()) & 63);
  }
  char* take(int64_t bytes) {
    char* const here = at_;
    at_ += ceil_div(bytes, 64) * 64;
    return here;
  }

 private:
  std::unique_ptr<char[]> memory_;
  char* at_;
};

// Buffers of one thread.
struct Buffers {
  char* x[most_groups];
  int16_t* tables;
  int32_t* acc[2];
  uint32_t* tiles;
};

class Encoder {
 public:
  Encoder(Isa isa, const Rows& rows, const Weights& weights, const Epilogue& epilogue, const Target& target)
      : kernels_(kernels_of(isa)),
        rows_(rows),
        w_(weights),
        e_(epilogue),
        target_(target),
        places_(places_of(target.layout)),
        form_(lane_form(weights)) {
    shift_ = target.first_row % lanes;
    groups_ = ceil_div(shift_ + rows.n, lanes);
    chunk_ = w_.path == Path::sparse ? sparse_chunk : w_.path == Path::table ? table_chunk : gemm_chunk;
    // Every chunk starts a word: 240 columns are no multiple of 32, their 480 codes are.
    if (w_.path != Path::sparse && w_.path != Path::table && places_.per_word == 32 && !e_.pair) chunk_ = 192;
    gemm_ = w_.path == Path::gemm8 || w_.path == Path::gemm16;
    const int64_t fit = std::clamp<int64_t>(task_bytes / form_.bytes, 2, most_groups) / 2 * 2;
    const auto threads = static_cast<int64_t>(max_threads());
    each_groups_ = gemm_ ? std::clamp<int64_t>(ceil_div(groups_, 2 * threads) * 2, 2, fit) : 1;
    const int64_t row_tasks = ceil_div(groups_, each_groups_), chunks = ceil_div(w_.m, chunk_);
    // Few rows: the columns are shared out too.
    const int64_t parts =
        std::clamp<int64_t>(row_tasks >= 4 * threads ? 1 : ceil_div(4 * threads, row_tasks), 1, chunks);
    part_columns_ = ceil_div(chunks, parts) * chunk_;
    parts_ = ceil_div(w_.m, part_columns_);
    tasks_ = row_tasks * parts_;
  }

  void run(Interrupt& interrupt) {
    const int64_t width = std::min(chunk_, w_.m), words = ceil_div(width << (e_.pair ? 1 : 0), places_.per_word);
    const int64_t acc_bytes = width * lanes * 4, table_bytes = w_.path == Path::table ? table_pass * 81 * lanes * 2 : 0;
    const int64_t bytes =
        each_groups_ * (form_.bytes + 64) + 2 * (acc_bytes + 64) + table_bytes + words * lanes * 4 + 256;
    const int threads = static_cast<int>(std::min<int64_t>(max_threads(), tasks_));
    std::vector<Scratch> memory;
    std::vector<Buffers> buffers(static_cast<size_t>(threads));
    memory.reserve(buffers.size());
    for (Buffers& b : buffers) {
      Scratch& s = memory.emplace_back(bytes);
      for (int64_t g = 0; g < each_groups_; ++g) b.x[g] = s.take(form_.bytes);
      for (int32_t*& acc : b.acc) acc = reinterpret_cast<int32_t*>(s.take(acc_bytes));
      b.tables = reinterpret_cast<int16_t*>(s.take(table_bytes));
      b.tiles = reinterpret_cast<uint32_t*>(s.take(words * lanes * 4));
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
#endif
    for (int64_t task = 0; task < tasks_; ++task) {
      if (thread_index() == 0) interrupt.check();
      if (!interrupt.stopped()) work(task, buffers[static_cast<size_t>(thread_index())], interrupt);
    }
  }

 private:
  void work(int64_t task, const Buffers& b, Interrupt& interrupt) const {
    const int64_t group = task / parts_ * each_groups_, count = std::min(each_groups_, groups_ - group);
    const int64_t from = task % parts_ * part_columns_, to = std::min(from + part_columns_, w_.m);
    for (int64_t g = 0; g < count; ++g) load_lanes(rows_, (group + g) * lanes - shift_, form_, b.x[g]);
    for (int64_t begin = from; begin < to; begin += chunk_) {
      if (thread_index() == 0) interrupt.check();
      if (interrupt.stopped()) return;
      const int64_t end = std::min(begin + chunk_, to);
      for (int64_t g = 0; g < count; g += gemm_ ? 2 : 1) accumulate(b, g, count, begin, end, group);
    }
  }

  void accumulate(const Buffers& b, int64_t g, int64_t count, int64_t begin, int64_t end, int64_t group) const {
    if (!gemm_) {
      const auto* x = reinterpret_cast<const int16_t*>(b.x[g]);
      if (w_.path == Path::sparse)
        kernels_.sparse(w_, x, begin, end, b.acc[0]);
      else
        kernels_.table(w_, x, begin, end, b.tables, b.acc[0]);
      return finish(b, 0, group + g, begin, end);
    }
    // A last group alone is its own partner.
    const int64_t other = g + 1 < count ? g + 1 : g;
    if (w_.path == Path::gemm8) {
      const uint8_t* x[2] = {reinterpret_cast<const uint8_t*>(b.x[g]), reinterpret_cast<const uint8_t*>(b.x[other])};
      kernels_.gemm8(w_, x, begin, end, b.acc);
    } else {
      const int16_t* x[2] = {reinterpret_cast<const int16_t*>(b.x[g]), reinterpret_cast<const int16_t*>(b.x[other])};
      kernels_.gemm16(w_, x, begin, end, b.acc);
    }
    finish(b, 0, group + g, begin, end);
    if (other != g) finish(b, 1, group + other, begin, end);
  }

  void finish(const Buffers& b, int which, int64_t group, int64_t begin, int64_t end) const {
    const int pair = e_.pair ? 1 : 0;
    const int64_t first = group * lanes - shift_;
    const int low = static_cast<int>(std::max<int64_t>(0, -first));
    const int high = static_cast<int>(std::min<int64_t>(lanes, rows_.n - first));
    const bool whole = low == 0 && high == lanes;
    uint32_t key_low[lanes] = {}, key_high[lanes] = {};
    if (e_.stochastic)
      for (int l = low; l < high; ++l) {
        key_low[l] = static_cast<uint32_t>(e_.row_keys[first + l]);
        key_high[l] = static_cast<uint32_t>(e_.row_keys[first + l] >> 32);
      }
    const int64_t width = ceil_div(target_.columns, places_.per_word);
    uint32_t* const at =
        target_.words + ((target_.first_row / lanes + group) * width + (begin << pair) / places_.per_word) * lanes;
    kernels_.finish({&e_, &places_, w_.m, begin, end, b.acc[which], key_low, key_high, b.tiles});
    const int64_t words = ceil_div((end - begin) << pair, places_.per_word);
    if (whole) {
      std::memcpy(at, b.tiles, static_cast<size_t>(words) * lanes * 4);
    } else {
      for (int64_t c = 0; c < words; ++c)
        for (int l = low; l < high; ++l) at[c * lanes + l] = b.tiles[c * lanes + l];
    }
  }

  const Kernels& kernels_;
  const Rows& rows_;
  const Weights& w_;
  const Epilogue& e_;
  const Target& target_;
  const Places places_;
  const LaneForm form_;
  bool gemm_;
  int64_t shift_;         // lane of row 0
  int64_t groups_;        // row groups touched
  int64_t each_groups_;   // of a task
  int64_t chunk_;         // columns whose accumulators are held at a time
  int64_t part_columns_;  // of a task
  int64_t parts_;
  int64_t tasks_;
};

}  // namespace

void encode(Isa isa, const Rows& rows, const Weights& weights, const Epilogue& epilogue, const Target& target,
            Interrupt& interrupt) {
  if (rows.n == 0 || weights.m == 0) return;
  Encoder(isa, rows, weights, epilogue, target).run(interrupt);
}

}  // namespace nanogram::dense
