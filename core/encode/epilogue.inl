// Part of the kernels: values in row lanes become words of tiles.
//
// A vector's dword i holds rows i and i + lanes / 2, and a register collects the codes of half a word's columns for
// all lanes; two of them exchange halves of their dwords and are words of 16 or 2 x 8 rows.

#include "encode/cosine.inl"
#include "encode/rounding.inl"

struct Tiles {
  u32* low;         // words of the first half of the lanes
  u32* high;        // of the second half; null when there are no such rows
  const u32* mask;  // per lane in the order low, high: all ones where there is a row
};

struct EpilogueArguments {
  const HadamardPlan* plan;
  const i16* values;     // lanes of the first column
  i64 column;            // the first column
  const RowWords* keys;  // of the rows
  Tiles tiles;           // of the first column's word
};

inline void store_word(const Tiles& tiles, i64 word, Vec first, Vec second) {
  store_masked(tiles.low + word * 16, low_halves(first, second), tiles.mask);
  if (tiles.high != nullptr) store_masked(tiles.high + word * 16, high_halves(first, second), tiles.mask + lanes / 2);
}

// ---------------------------------------------------------------- steps

template <int half, int n>
void steps(const EpilogueArguments& a, i64 words) {
  const HadamardPlan& plan = *a.plan;
  const u32* t = plan.column_constants.data() + a.column * n;
  const i16* y = a.values;
  Vec weight[n][half];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < half; ++j) weight[i][j] = Vec::pair(plan.weights[static_cast<size_t>(i * half + j)]);
  const Vec base = Vec::pair(plan.base[half]);
  for (i64 w = 0; w < words; ++w) {
    Vec sums[2];
    for (int h = 0; h < 2; ++h) {
      Vec sum = base;
#pragma GCC unroll 16
      for (int j = 0; j < half; ++j, y += lanes) {
        const Vec value = Vec::load(y);
#pragma GCC unroll 4
        for (int i = 0; i < n; ++i) sum = add_where_greater(sum, value, Vec::pair(*t++), weight[i][j]);
      }
      sums[h] = sum;
    }
    store_word(a.tiles, w, sums[0], sums[1]);
  }
}

// Any number of thresholds and of columns, and steps on the cosine.
template <bool on_cosine>
void steps_any(const EpilogueArguments& a, i64 columns) {
  const HadamardPlan& plan = *a.plan;
  const int n = plan.job.epilogue.n_thresholds, half = plan.half;
  const u32* t = plan.column_constants.data() + a.column * (n + (on_cosine ? 1 : 0));
  const i16* y = a.values;
  const Vec multiplier = Vec::pair(pair_of(plan.job.epilogue.multiplier));
  for (i64 w = 0; columns > 0; ++w) {
    Vec sums[2];
    for (int h = 0; h < 2; ++h) {
      const int here = static_cast<int>(columns < half ? columns : half);
      columns -= here;
      Vec sum = Vec::pair(plan.base[static_cast<size_t>(here)]);
      for (int j = 0; j < here; ++j, y += lanes) {
        Vec value = Vec::load(y);
        if constexpr (on_cosine) value = cosine(add(multiply_low(value, multiplier), Vec::pair(*t++)));
        const u32* weight = plan.weights.data() + j;
        for (int i = 0; i < n; ++i, weight += half)
          sum = add_where_greater(sum, value, Vec::pair(*t++), Vec::pair(*weight));
      }
      sums[h] = sum;
    }
    store_word(a.tiles, w, sums[0], sums[1]);
  }
}

template <int half>
void steps_half(const EpilogueArguments& a, i64 columns) {
  const i64 words = columns / (2 * half);
  if (words * 2 * half != columns) return steps_any<false>(a, columns);
  switch (a.plan->job.epilogue.n_thresholds) {
    case 1: return steps<half, 1>(a, words);
    case 2: return steps<half, 2>(a, words);
    case 3:
      if constexpr (half <= 8) return steps<half, 3>(a, words);
  }
  steps_any<false>(a, columns);
}

// ---------------------------------------------------------------- rounded cosines

// Rounding words of columns column .. column + count, lanes as the values'; count and column are multiples of 8.
void rounding_words(const Block& key, const RowWords& keys, i64 column, i64 count, i16* out) {
  for (i64 c = 0; c < count; c += 8) {
    Side b[2][4];
    const auto eight = static_cast<u32>((column + c) / 8);
    entry_blocks(keys, {eight, eight}, key, b);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const Vec low = __builtin_bit_cast(Vec, b[0][k]), high = __builtin_bit_cast(Vec, b[1][k]);
      low_halves(low, high).store(out + (c + 2 * k) * lanes);
      high_halves(low, high).store(out + (c + 2 * k + 1) * lanes);
    }
  }
}

template <int half, bool stochastic, bool multiplied>
void cosines(const EpilogueArguments& a, i64 columns) {
  constexpr int bits = 16 / half;
  constexpr int batch = 64;
  const HadamardPlan& plan = *a.plan;
  const Epilogue& e = plan.job.epilogue;
  const Vec multiplier = Vec::pair(pair_of(e.multiplier));
  const Block key = {e.key[0], e.key[1], e.key[2], e.key[3]};
  alignas(64) i16 random[stochastic ? (batch + 8) * lanes : 1];
  i64 word = 0;
  for (i64 start = 0; start < columns; start += batch) {
    const i64 here = columns - start < batch ? columns - start : batch;
    const u32* bias = plan.column_constants.data() + a.column + start;
    const i16* y = a.values + start * lanes;
    const i64 skip = (a.column + start) % 8;
    const i16* r = random + skip * lanes;
    if constexpr (stochastic) rounding_words(key, *a.keys, a.column + start - skip, (skip + here + 7) / 8 * 8, random);
    for (i64 done = 0; done < here; ++word) {
      Vec sums[2];
      for (int h = 0; h < 2; ++h) {
        Vec sum = Vec::pair(0);
#pragma GCC unroll 16
        for (int j = 0; j < half; ++j, ++done, y += lanes, r += lanes) {
          if (done >= here) break;
          Vec phase = Vec::load(y);
          if constexpr (multiplied) phase = multiply_low(phase, multiplier);
          const Vec s = cosine(add(phase, Vec::pair(*bias++)));
          sum = add_rounded<bits, stochastic>(sum, s, r, j);
        }
        sums[h] = sum;
      }
      store_word(a.tiles, word, sums[0], sums[1]);
    }
  }
}

template <int half>
void cosines_half(const EpilogueArguments& a, i64 columns) {
  const Epilogue& e = a.plan->job.epilogue;
  const bool stochastic = e.kind == EpilogueKind::stochastic, multiplied = e.multiplier != 1;
  if (stochastic) return multiplied ? cosines<half, true, true>(a, columns) : cosines<half, true, false>(a, columns);
  return multiplied ? cosines<half, false, true>(a, columns) : cosines<half, false, false>(a, columns);
}

// Codes of `columns` columns; the last word may be partial.
void run_epilogue(const EpilogueArguments& a, i64 columns) {
  const EpilogueKind kind = a.plan->job.epilogue.kind;
  if (kind == EpilogueKind::periodic) return steps_any<true>(a, columns);
  if (kind == EpilogueKind::step) {
    switch (a.plan->half) {
      case 16: return steps_half<16>(a, columns);
      case 10: return steps_half<10>(a, columns);
      case 8: return steps_half<8>(a, columns);
      case 4: return steps_half<4>(a, columns);
      default: return steps_any<false>(a, columns);
    }
  }
  switch (a.plan->half) {
    case 16: return cosines_half<16>(a, columns);
    case 8: return cosines_half<8>(a, columns);
    case 4: return cosines_half<4>(a, columns);
    case 2: return cosines_half<2>(a, columns);
    default: return cosines_half<1>(a, columns);
  }
}
