// Rounded cosines of accumulators: two columns in the halves of a dword, half a word apart, so that the codes of all
// pairs add up to the word. The arithmetic is that of the Hadamard encoder.

#include "encode/cosine.inl"
#include "encode/rounding.inl"

// 16 random bits for each row and pair of columns, from the column of number 8 `eight` on: pairs of one word of 32
// columns, or of as many words as 16 columns make.
template <int half>
inline void random_pairs(const RowWords& keys, const Block& key, u32 eight, i16* out) {
  Side b[2][4];
  const auto put = [&out](const Side& first, const Side& second) {
    const Vec low = __builtin_bit_cast(Vec, first), high = __builtin_bit_cast(Vec, second);
    low_halves(low, high).store(out);
    high_halves(low, high).store(out + 2 * side_lanes);
    out += 4 * side_lanes;
  };
  if constexpr (half >= 8) {
    for (u32 q = 0; q < half / 8; ++q) {
      entry_blocks(keys, {eight + q, eight + q + half / 8}, key, b);
      for (int k = 0; k < 4; ++k) put(b[0][k], b[1][k]);
    }
    return;
  }
  entry_blocks(keys, {eight, eight + 1}, key, b);
  for (int e = 0; e < 2; ++e) {
    if constexpr (half == 4) put(b[e][0], b[e][2]), put(b[e][1], b[e][3]);
    if constexpr (half == 2) put(b[e][0], b[e][1]), put(b[e][2], b[e][3]);
    if constexpr (half == 1)
      for (int k = 0; k < 4; ++k, out += 2 * side_lanes) __builtin_bit_cast(Vec, b[e][k]).store(out);
  }
}

// All whole words; returns their number. Chunks begin at multiples of 16 columns.
template <int half, bool stochastic>
i64 cosine_words(const Finish& f) {
  constexpr int bits = 16 / half, unit = half >= 8 ? 1 : 8 / half;
  const Epilogue& e = *f.epilogue;
  const int pair = e.pair ? 1 : 0;
  const i64 begin = f.begin << pair, words = ((f.end << pair) - begin) / (2 * half);
  const Block key = {e.key[0], e.key[1], e.key[2], e.key[3]};
  alignas(64) i16 random[(stochastic ? half * unit : 1) * 2 * side_lanes];
  for (int h = 0; h < lanes; h += side_lanes) {
    std::uint64_t row_keys[2 * side_lanes] = {};
    if (stochastic)
      for (int l = 0; l < 2 * side_lanes; ++l) {
        const int row = h + l % side_lanes;
        row_keys[l] = f.key_low[row] | static_cast<std::uint64_t>(f.key_high[row]) << 32;
      }
    const RowWords keys(row_keys);
    // The phase of an output in the upper half of its dword.
    const auto phase = [&](i64 out) {
      const i64 column = out >> pair;
      const u32 bias = e.bias[column] - (pair & out ? 0x40000000u : 0u);
      return load<Side>(f.acc + (column - f.begin) * lanes + h) * e.factor + bias;
    };
    for (i64 w = 0; w < words; ++w) {
      const i64 column = begin + w * 2 * half;
      if (stochastic && w % unit == 0) random_pairs<half>(keys, key, static_cast<u32>(column / 8), random);
      const i16* r = random + (stochastic ? w % unit * half * 2 * side_lanes : 0);
      Vec sum = Vec::pair(0);
#pragma GCC unroll 16
      for (int j = 0; j < half; ++j) {
        const Side both = phase(column + j) >> 16 | (phase(column + half + j) & 0xFFFF0000u);
        sum = add_rounded<bits, stochastic>(sum, cosine(__builtin_bit_cast(Vec, both)), r, j);
        if (stochastic) r += 2 * side_lanes;
      }
      store(f.tiles + w * lanes + h, __builtin_bit_cast(Side, sum));
    }
  }
  return words;
}

template <int half>
i64 cosine_words(const Finish& f) {
  return f.epilogue->stochastic ? cosine_words<half, true>(f) : cosine_words<half, false>(f);
}

// Whole words of codes that fill their fields; 0 where another way has to do them.
i64 finish_cosines(const Finish& f) {
  if (f.epilogue->kind != Kind::cosine || f.places->per_word * f.epilogue->bits != 32) return 0;
  switch (f.epilogue->bits) {
    case 1: return cosine_words<16>(f);
    case 2: return cosine_words<8>(f);
    case 4: return cosine_words<4>(f);
    case 8: return cosine_words<2>(f);
    default: return cosine_words<1>(f);
  }
}
