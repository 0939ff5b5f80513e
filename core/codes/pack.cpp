#include "codes/pack.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "codes/kernels.hpp"
#include "common/threads.hpp"

namespace nanogram::codes {
namespace {

using i64 = std::int64_t;
using u32 = std::uint32_t;

// A task of a thread is about this many codes: under a millisecond.
constexpr i64 grain_codes = 1 << 18;

// work(g) for every group of 16 rows, on all threads, unless interrupted.
template <typename Work>
void each_group(i64 groups, i64 m, Interrupt& interrupt, const Work& work) {
  const i64 grain = std::clamp<i64>(grain_codes / (rows_per_tile * std::max<i64>(m, 1)), 1, 1 << 20);
  const i64 tasks = ceil_div(groups, grain);
#pragma omp parallel for schedule(dynamic) if (tasks > 1)
  for (i64 task = 0; task < tasks; ++task) {
    if (interrupt.stopped()) continue;
    if (thread_index() == 0 && interrupt.check()) continue;
    for (i64 g = task * grain; g < std::min(groups, (task + 1) * grain); ++g) work(g);
  }
}

// The last row group with zeros in the rows beyond n, for kernels that see all 16: storage from a stranger's file
// may hold anything there.
class CleanGroups {
 public:
  explicit CleanGroups(Source from) : from_(from) {
    const i64 used = from.n % rows_per_tile;
    if (used == 0) return;
    const u32* last = from.group(from.groups() - 1);
    last_.assign(last, last + from.columns() * rows_per_tile);
    for (i64 c = 0; c < from.columns(); ++c)
      std::fill(last_.begin() + c * rows_per_tile + used, last_.begin() + (c + 1) * rows_per_tile, 0u);
  }

  const u32* group(i64 g) const { return !last_.empty() && g == from_.groups() - 1 ? last_.data() : from_.group(g); }

 private:
  Source from_;
  std::vector<u32> last_;
};

class Largest {
 public:
  void meet(u32 code) {
    u32 seen = value_.load(std::memory_order_relaxed);
    while (code > seen && !value_.compare_exchange_weak(seen, code, std::memory_order_relaxed)) {
    }
  }
  u32 value() const { return value_.load(); }

 private:
  std::atomic<u32> value_{0};
};

// Runs over rows in batches of 16 and, within a batch, over stretches of words, so that rows of one group read each
// tile once. sink(row, first column, codes, count).
template <typename Sink>
void each_stretch(Source from, const i64* rows, i64 count, const Kernels& kernel, Interrupt& interrupt,
                  const Sink& sink) {
  const i64 columns = from.columns();
  each_group(ceil_div(count, rows_per_tile), from.m, interrupt, [&](i64 batch) {
    alignas(64) unsigned char codes[stretch_codes];  // u16 has few codes a word: they fit twice over
    const i64 end = std::min(count, (batch + 1) * rows_per_tile);
    for (i64 c = 0; c < columns; c += stretch_words) {
      const int words = static_cast<int>(std::min<i64>(stretch_words, columns - c));
      const i64 first = c * from.layout.per_word;
      const int here = static_cast<int>(std::min<i64>(words * from.layout.per_word, from.m - first));
      for (i64 i = batch * rows_per_tile; i < end; ++i) {
        kernel.unpack(from.layout.index, from.lane(rows == nullptr ? i : rows[i]) + c * rows_per_tile, words, codes);
        sink(i, first, codes, here);
      }
    }
  });
}

// One stretch of codes as the layout's own code type, zeros after them; returns the largest.
u32 stage(const Layout& layout, const std::uint8_t* codes, int here, int room, void* staged, const Kernels& kernel) {
  if (layout.wide) {
    auto* wide = static_cast<std::uint16_t*>(staged);
    std::copy(codes, codes + here, wide);
    std::fill(wide + here, wide + room, std::uint16_t{0});
  } else {
    std::memcpy(staged, codes, static_cast<size_t>(here));
    std::memset(static_cast<std::uint8_t*>(staged) + here, 0, static_cast<size_t>(room - here));
  }
  return kernel.largest8(codes, here);
}

u32 stage(const Layout& layout, const std::uint16_t* codes, int here, int room, void* staged, const Kernels& kernel) {
  if (layout.wide) {
    auto* wide = static_cast<std::uint16_t*>(staged);
    std::copy(codes, codes + here, wide);
    std::fill(wide + here, wide + room, std::uint16_t{0});
  } else {
    auto* narrow = static_cast<std::uint8_t*>(staged);
    for (int j = 0; j < here; ++j) narrow[j] = static_cast<std::uint8_t>(codes[j]);
    std::memset(narrow + here, 0, static_cast<size_t>(room - here));
  }
  return kernel.largest16(codes, here);
}

}  // namespace

template <typename Code>
u32 pack(const Code* codes, Target to, Isa isa, Interrupt& interrupt) {
  const Kernels& kernel = kernels(isa);
  const i64 columns = to.columns();
  Largest largest;
  each_group(to.groups(), to.m, interrupt, [&](i64 g) {
    alignas(64) unsigned char staged[stretch_codes];
    u32* group = to.group(g);
    const i64 used = std::min<i64>(rows_per_tile, to.n - g * rows_per_tile);
    if (used < rows_per_tile) std::fill(group, group + columns * rows_per_tile, 0u);
    u32 most = 0;
    for (i64 c = 0; c < columns; c += stretch_words) {
      const int words = static_cast<int>(std::min<i64>(stretch_words, columns - c));
      const i64 first = c * to.layout.per_word;
      const int room = words * to.layout.per_word;
      const int here = static_cast<int>(std::min<i64>(room, to.m - first));
      for (i64 r = 0; r < used; ++r) {
        const Code* row = codes + (g * rows_per_tile + r) * to.m + first;
        most = std::max(most, stage(to.layout, row, here, room, staged, kernel));
        kernel.pack(to.layout.index, staged, words, group + c * rows_per_tile + r);
      }
    }
    largest.meet(most);
  });
  return largest.value();
}

template u32 pack(const std::uint8_t*, Target, Isa, Interrupt&);
template u32 pack(const std::uint16_t*, Target, Isa, Interrupt&);

u32 convert(Source from, Target to, Isa isa, Interrupt& interrupt) {
  const Kernels& kernel = kernels(isa);
  const CleanGroups clean(from);
  Largest largest;
  each_group(from.groups(), from.m, interrupt, [&](i64 g) {
    largest.meet(kernel.convert(from.layout.index, to.layout.index, clean.group(g), from.m, to.group(g)));
  });
  return largest.value();
}

void unpack(Source from, const i64* rows, i64 count, void* out, Isa isa, Interrupt& interrupt) {
  const i64 size = from.layout.wide ? 2 : 1;
  each_stretch(from, rows, count, kernels(isa), interrupt, [&](i64 row, i64 first, const void* codes, int here) {
    std::memcpy(static_cast<unsigned char*>(out) + (row * from.m + first) * size, codes,
                static_cast<size_t>(here * size));
  });
}

template <typename Float>
void decode(Source from, const i64* rows, i64 count, const Decoder& decoder, Float* out, Isa isa,
            Interrupt& interrupt) {
  const Kernels& kernel = kernels(isa);
  const int layout = from.layout.index;
  each_stretch(from, rows, count, kernel, interrupt, [&](i64 row, i64 first, const void* codes, int here) {
    Float* to = out + row * from.m + first;
    alignas(64) float values[stretch_codes];
    float* floats = values;
    if constexpr (sizeof(Float) == sizeof(float)) floats = to;
    if (decoder.levels != nullptr)
      kernel.levels(layout, codes, here, decoder.levels, floats);
    else
      kernel.linear(layout, codes, here, decoder.scale + first, decoder.centre, decoder.offset + first, floats);
    if constexpr (sizeof(Float) != sizeof(float)) std::copy(values, values + here, to);
  });
}

template void decode(Source, const i64*, i64, const Decoder&, float*, Isa, Interrupt&);
template void decode(Source, const i64*, i64, const Decoder&, double*, Isa, Interrupt&);

void take_columns(Source from, const i64* columns, Target to, Isa isa, Interrupt& interrupt) {
  const Kernels& kernel = kernels(isa);
  const CleanGroups clean(from);
  each_group(from.groups(), to.m, interrupt,
             [&](i64 g) { kernel.take_columns(from.layout.index, clean.group(g), columns, to.m, to.group(g)); });
}

void split_planes(Source from, Target low, Target high, Target both, Isa isa, Interrupt& interrupt) {
  const Kernels& kernel = kernels(isa);
  const CleanGroups clean(from);
  const i64 extra = from.columns() * from.layout.per_word - from.m;
  each_group(from.groups(), from.m, interrupt, [&](i64 g) {
    kernel.split(clean.group(g), from.columns(), low.group(g), high.group(g), both.group(g));
    if (extra == 0) return;
    // Codes beyond m count for nothing: clear them in the last tile of each plane.
    const i64 last = (low.columns() - 1) * rows_per_tile;
    const i64 codes = from.m - (low.columns() - 1) * low.layout.per_word;
    const u32 mask = codes == 32 ? ~0u : (1u << codes) - 1;
    for (Target plane : {low, high, both})
      for (int r = 0; r < rows_per_tile; ++r) plane.group(g)[last + r] &= mask;
  });
}

void row_sums(Source from, i64* sums, Isa isa, Interrupt& interrupt) {
  const Kernels& kernel = kernels(isa);
  const Layout& layout = from.layout;
  const i64 whole = from.m / layout.per_word;
  const int rest = static_cast<int>(from.m % layout.per_word);
  each_group(from.groups(), from.m, interrupt, [&](i64 g) {
    i64 group_sums[rows_per_tile];
    kernel.row_sums(layout.index, from.group(g), whole, group_sums);
    const i64 used = std::min<i64>(rows_per_tile, from.n - g * rows_per_tile);
    for (i64 r = 0; r < used; ++r) {
      i64 sum = group_sums[r];
      if (rest > 0) {
        alignas(64) unsigned char codes[64];
        kernel.unpack(layout.index, from.group(g) + whole * rows_per_tile + r, 1, codes);
        for (int j = 0; j < rest; ++j) sum += layout.wide ? reinterpret_cast<const std::uint16_t*>(codes)[j] : codes[j];
      }
      sums[g * rows_per_tile + r] = sum;
    }
  });
}

void column_sums(Source from, i64* sums, Isa isa, Interrupt& interrupt) {
  const Kernels& kernel = kernels(isa);
  const CleanGroups clean(from);
  const i64 columns = from.columns(), groups = from.groups(), stride = columns * rows_per_tile;
  const int per_word = from.layout.per_word, block = column_block(per_word);
  // Whole groups in chunks, small enough for 32-bit sums and for a stop to be heard, large enough to pay for their
  // reduction over the lanes; the last, cleaned one alone.
  const i64 whole = from.n / rows_per_tile;
  const i64 chunk = std::clamp<i64>(64 * grain_codes / (rows_per_tile * std::max<i64>(from.m, 1)), 64, 32768);
  const i64 tasks = ceil_div(whole, chunk) + (groups > whole ? 1 : 0);
  std::vector<std::vector<i64>> partial(static_cast<size_t>(max_threads()));
  const size_t width = static_cast<size_t>(columns * per_word);
  for (auto& sums_of_thread : partial) sums_of_thread.assign(width, 0);
#pragma omp parallel for schedule(dynamic) if (tasks > 1)
  for (i64 task = 0; task < tasks; ++task) {
    if (interrupt.stopped()) continue;
    if (thread_index() == 0 && interrupt.check()) continue;
    const i64 first = std::min(task * chunk, whole);
    const i64 count = first < whole ? std::min(chunk, whole - first) : 1;
    i64* mine = partial[static_cast<size_t>(thread_index())].data();
    for (i64 c = 0; c < columns; c += block)
      kernel.column_sums(from.layout.index, clean.group(first) + c * rows_per_tile, count, stride,
                         static_cast<int>(std::min<i64>(block, columns - c)), mine + c * per_word);
  }
  std::fill(sums, sums + from.m, 0);
  for (const auto& sums_of_thread : partial)
    for (i64 j = 0; j < from.m; ++j) sums[j] += sums_of_thread[static_cast<size_t>(j)];
}

}  // namespace nanogram::codes
