#include "encode/hadamard.hpp"

#include <algorithm>
#include <new>

#include "common/threads.hpp"

namespace nanogram {
namespace {

// Columns of a word by layout, as ops/layouts.py has them; layout 5 is five trits a byte.
constexpr int per_word_of[6] = {32, 16, 8, 4, 2, 20};
constexpr int layout_t5 = 5;
// round(2^15 * 2^(-s/2))
constexpr int group_factors[5] = {32768, 23170, 16384, 11585, 8192};
// Chunks of values that stay in the first-level cache from group to group: 128 columns of 64 bytes.
constexpr int most_chunk_bits = 7;

const EncodeKernels& kernels_of(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return encode_avx512;
  if (isa == Isa::avx2) return encode_avx2;
#endif
  (void)isa;
  return encode_generic;
}

std::uint32_t pair_of(std::int64_t value) { return (static_cast<std::uint32_t>(value) & 0xFFFFu) * 0x10001u; }

std::uint32_t clipped_pair(std::int64_t value) { return pair_of(std::clamp<std::int64_t>(value, -32768, 32767)); }

int log2_of(std::int64_t size) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < size) ++bits;
  return bits;
}

struct Group {
  int bit, stages;
};

void plan_ops(HadamardPlan& plan) {
  const int bits = log2_of(plan.job.size), rounds = plan.job.rounds, n = (bits + 3) / 4;
  std::vector<Group> groups;
  for (int g = 0, bit = 0; g < n; ++g) {
    const int stages = bits / n + (g < bits % n ? 1 : 0);
    groups.push_back({bit, stages});
    bit += stages;
  }
  plan.chunk_bits = 0;
  for (const Group& g : groups)
    if (g.bit + g.stages <= std::max(most_chunk_bits, groups[0].stages)) plan.chunk_bits = g.bit + g.stages;
  plan.most_stages = n > 0 ? groups[0].stages : 0;
  if (n == 0) {
    plan.ops.push_back({0, 0, 0, false, true, 1, 1, 0});
    return;
  }
  int before = 0;
  for (int r = 0; r < rounds; ++r) {
    const bool upward = (rounds - 1 - r) % 2 != 0;
    for (int k = 0; k < n; ++k) {
      const Group g = groups[static_cast<size_t>(upward ? k : n - 1 - k)];
      if (r == 0) plan.first_round.push_back(g.stages), plan.first_bits.push_back(g.bit);
      // Rounds meet in the same group: both of its goes make one pass.
      if (k == 0 && r > 0 && !plan.ops.back().twice && plan.ops.back().bit == g.bit) {
        plan.ops.back().twice = true;
        plan.ops.back().second = r;
      } else {
        const int source = r == 0 && k == 0 ? 0 : k == 0 ? 2 : 1;
        plan.ops.push_back({g.bit, g.stages, source, false, g.bit + g.stages <= plan.chunk_bits, std::max(r, 1), 1,
                            source == 1 ? pair_of(group_factors[before]) : 0});
      }
      before = g.stages;
    }
  }
}

void plan_signs(HadamardPlan& plan) {
  const HadamardJob& job = plan.job;
  const std::int64_t size = job.size, words = (size + 31) / 32;
  plan.places.resize(static_cast<size_t>(job.n_blocks * size));
  plan.tables.resize(static_cast<size_t>(job.n_blocks * (job.rounds - 1) * size));
  // Stages of the group a round starts with are those of the group the round before ended with.
  const bool single = size == 1;
  for (std::int64_t b = 0; b < job.n_blocks; ++b)
    for (int r = 0; r < job.rounds; ++r) {
      const std::uint32_t* packed = job.signs + (b * job.rounds + r) * words;
      const bool first_is_low = (job.rounds - 1 - r) % 2 != 0;
      int stages = 0;
      if (!single) {
        const int bits = log2_of(size), n = (bits + 3) / 4, g = first_is_low ? 0 : n - 1;
        stages = bits / n + (g < bits % n ? 1 : 0);
      }
      for (std::int64_t c = 0; c < size; ++c) {
        const bool negative = (packed[c / 32] >> (c % 32) & 1) != 0;
        std::uint32_t& place = plan.places[static_cast<size_t>(b * size + c)];
        if (r == 0)
          place = static_cast<std::uint32_t>(negative ? size + c : c);
        else if (single)
          place ^= static_cast<std::uint32_t>(negative);
        else
          plan.tables[static_cast<size_t>((b * (job.rounds - 1) + r - 1) * size + c)] =
              pair_of(negative ? -group_factors[stages] : group_factors[stages]);
      }
    }
}

void plan_epilogue(HadamardPlan& plan) {
  const Epilogue& e = plan.job.epilogue;
  const std::int64_t m = plan.job.m;
  const int n = e.n_thresholds, half = per_word_of[e.layout] / 2;
  plan.half = half;
  const bool phased = e.kind != EpilogueKind::step,
             stepped = e.kind == EpilogueKind::step || e.kind == EpilogueKind::periodic;
  const std::int64_t below = e.kind == EpilogueKind::periodic ? 32768 : 0;
  for (std::int64_t c = 0; c < m; ++c) {
    if (phased) plan.column_constants.push_back(pair_of(e.bias[c]));
    for (int i = 0; stepped && i < n; ++i)
      plan.column_constants.push_back(clipped_pair(e.thresholds[i * m + c] - below));
  }
  if (!stepped) return;
  std::vector<std::int64_t> place;
  for (int j = 0, weight = 1; j < half; ++j) {
    if (e.layout == layout_t5) {
      weight = j % 5 == 0 ? 1 << (8 * (j / 5)) : weight * 3;
    } else {
      weight = 1 << (16 / half * j);
    }
    place.push_back(weight);
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < half; ++j)
      plan.weights.push_back(pair_of((e.codes[i + 1] - e.codes[i]) * place[static_cast<size_t>(j)]));
  std::int64_t base = 0;
  plan.base.push_back(0);
  for (int j = 0; j < half; ++j) plan.base.push_back(pair_of(base += e.codes[0] * place[static_cast<size_t>(j)]));
}

}  // namespace

void encode_hadamard(Isa isa, const HadamardJob& job, std::int64_t counts[2], Interrupt& interrupt) {
  if (job.rows.n == 0 || job.m == 0) return;
  HadamardPlan plan{};
  plan.job = job;
  plan_ops(plan);
  plan_signs(plan);
  plan_epilogue(plan);
  const EncodeKernels& kernels = kernels_of(isa);
  const auto bytes = static_cast<size_t>(kernels.workspace(plan));
  const std::int64_t groups = (job.rows.n + kernels.lanes - 1) / kernels.lanes;
  std::int64_t clipped = 0, shrunk = 0;
#ifdef _OPENMP
#pragma omp parallel if (groups > 1) reduction(+ : clipped, shrunk)
#endif
  {
    void* const memory = ::operator new(bytes, std::align_val_t{4096});
#ifdef _OPENMP
#pragma omp for schedule(dynamic, 1)
#endif
    for (std::int64_t g = 0; g < groups; ++g) {
      if (thread_index() == 0) interrupt.check();
      if (interrupt.stopped()) continue;
      const std::int64_t row = g * kernels.lanes;
      std::int64_t here[2] = {0, 0};
      kernels.group(plan, row, static_cast<int>(std::min<std::int64_t>(kernels.lanes, job.rows.n - row)), memory, here);
      clipped += here[0];
      shrunk += here[1];
    }
    ::operator delete(memory, std::align_val_t{4096});
  }
  counts[0] += clipped;
  counts[1] += shrunk;
}

void quantise_rows(Isa isa, const EncodeRows& rows, std::int16_t* out, std::int64_t& clipped, Interrupt& interrupt) {
  const EncodeKernels& kernels = kernels_of(isa);
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 17) / std::max<std::int64_t>(1, rows.p));
  const std::int64_t parts = (rows.n + grain - 1) / grain;
  std::int64_t total = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (parts > 1) reduction(+ : total)
#endif
  for (std::int64_t part = 0; part < parts; ++part) {
    if (thread_index() == 0) interrupt.check();
    if (interrupt.stopped()) continue;
    const std::int64_t row = part * grain;
    total += kernels.quantise(rows, row, std::min(grain, rows.n - row), out + row * rows.p);
  }
  clipped += total;
}

}  // namespace nanogram
