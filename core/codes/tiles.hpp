// Part of kernels_body.hpp: tiles of one row group, 16 rows side by side.

// ------------------------------------------------------------------ tiles: 16 rows side by side

// Where code j of a word lies: a shift to its field (or byte), and for trits the digit of the byte.
struct Place {
  int shift;
  int digit;
};

inline Place place(int layout, int j) {
  if (layout == layout_t5) return {8 * (j / 5), j % 5};
  return {(32 / per_word_of[layout]) * j, 0};
}

// The codes at one place of a tile.
inline void extract(int layout, const u32* tile, Place at, u32* codes) {
  if (layout == layout_t5) {
    const u32 factor = reciprocal[at.digit];
    for (int r = 0; r < lanes; ++r) {
      const u32 quotient = (tile[r] >> at.shift & 255u) * factor >> 16;
      codes[r] = quotient - 3u * (quotient * reciprocal[1] >> 16);
    }
    return;
  }
  const u32 mask = static_cast<u32>((1ull << (32 / per_word_of[layout])) - 1);
  for (int r = 0; r < lanes; ++r) codes[r] = tile[r] >> at.shift & mask;
}

// Adds codes at one place of a tile that holds 0 there.
inline void insert(int layout, const u32* codes, Place at, u32* tile) {
  const u32 factor = layout == layout_t5 ? power3[at.digit] : 1u;
  for (int r = 0; r < lanes; ++r) tile[r] += codes[r] * factor << at.shift;
}

void take_columns(int layout, const u32* group, const i64* columns, i64 count, u32* target) {
  const int per_word = per_word_of[layout];
  for (i64 start = 0; start < count; start += per_word) {
    const int here = static_cast<int>(count - start < per_word ? count - start : per_word);
    u32 tile[lanes] = {};
    for (int j = 0; j < here; ++j) {
      const i64 column = columns[start + j];
      u32 codes[lanes];
      extract(layout, group + column / per_word * lanes, place(layout, static_cast<int>(column % per_word)), codes);
      insert(layout, codes, place(layout, j), tile);
    }
    __builtin_memcpy(target + start / per_word * lanes, tile, sizeof tile);
  }
}

template <int from, int to>
u32 convert_as(const u32* group, i64 m, u32* target) {
  u32 most[lanes] = {}, tile[lanes] = {};
  int source_at = 0, target_at = 0;
  for (i64 column = 0; column < m; ++column) {
    u32 codes[lanes];
    extract(from, group, place(from, source_at), codes);
    for (int r = 0; r < lanes; ++r) most[r] = codes[r] > most[r] ? codes[r] : most[r];
    insert(to, codes, place(to, target_at), tile);
    if (++source_at == per_word_of[from]) {
      source_at = 0;
      group += lanes;
    }
    if (++target_at == per_word_of[to]) {
      target_at = 0;
      __builtin_memcpy(target, tile, sizeof tile);
      target += lanes;
      for (int r = 0; r < lanes; ++r) tile[r] = 0;
    }
  }
  if (target_at != 0) __builtin_memcpy(target, tile, sizeof tile);
  return largest(most, lanes);
}

template <int from>
u32 convert_from(int to, const u32* group, i64 m, u32* target) {
  switch (to) {
    case layout_u1: return convert_as<from, layout_u1>(group, m, target);
    case layout_u2: return convert_as<from, layout_u2>(group, m, target);
    case layout_u4: return convert_as<from, layout_u4>(group, m, target);
    case layout_u8: return convert_as<from, layout_u8>(group, m, target);
    case layout_u16: return convert_as<from, layout_u16>(group, m, target);
    default: return convert_as<from, layout_t5>(group, m, target);
  }
}

u32 convert(int from, int to, const u32* group, i64 m, u32* target) {
  switch (from) {
    case layout_u1: return convert_from<layout_u1>(to, group, m, target);
    case layout_u2: return convert_from<layout_u2>(to, group, m, target);
    case layout_u4: return convert_from<layout_u4>(to, group, m, target);
    case layout_u8: return convert_from<layout_u8>(to, group, m, target);
    case layout_u16: return convert_from<layout_u16>(to, group, m, target);
    default: return convert_from<layout_t5>(to, group, m, target);
  }
}

// The even bits of a word, side by side in its lower half.
inline u32 even_bits(u32 x) {
  x &= 0x55555555u;
  x = (x | x >> 1) & 0x33333333u;
  x = (x | x >> 2) & 0x0F0F0F0Fu;
  x = (x | x >> 4) & 0x00FF00FFu;
  return (x | x >> 8) & 0x0000FFFFu;
}

void split(const u32* group, i64 columns, u32* low, u32* high, u32* both) {
  for (i64 c = 0; c < columns; c += 2) {
    const u32* first = group + c * lanes;
    const i64 at = c / 2 * lanes;
    for (int r = 0; r < lanes; ++r) {
      const u32 second = c + 1 < columns ? first[lanes + r] : 0u;
      const u32 l = even_bits(first[r]) | even_bits(second) << 16;
      const u32 h = even_bits(first[r] >> 1) | even_bits(second >> 1) << 16;
      low[at + r] = l;
      high[at + r] = h;
      both[at + r] = l & h;
    }
  }
}

// ------------------------------------------------------------------ sums

template <int layout>
inline u32 sum_of_word(u32 x) {
  if constexpr (layout == layout_u1) {
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u >> 24;
  } else if constexpr (layout == layout_u2) {
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u >> 24;
  } else if constexpr (layout == layout_u4) {
    return ((x & 0x0F0F0F0Fu) + (x >> 4 & 0x0F0F0F0Fu)) * 0x01010101u >> 24;
  } else if constexpr (layout == layout_u8) {
    x = (x & 0x00FF00FFu) + (x >> 8 & 0x00FF00FFu);
    return (x & 0xFFFFu) + (x >> 16);
  } else if constexpr (layout == layout_u16) {
    return (x & 0xFFFFu) + (x >> 16);
  } else {
    // The digits of b in base 3 sum to b - 2 (b/3 + b/9 + b/27 + b/81), each rounded down; bytes from 243 on,
    // which no packing makes, have their fifth digit taken modulo 3.
    u32 sum = 0;
    for (int part = 0; part < 4; ++part) {
      const u32 byte = x >> (8 * part) & 255u;
      const u32 quotients = (byte * reciprocal[1] >> 16) + (byte * reciprocal[2] >> 16) + (byte * reciprocal[3] >> 16) +
                            (byte * reciprocal[4] >> 16);
      sum += byte - 2u * quotients - (byte >= 243u ? 3u : 0u);
    }
    return sum;
  }
}

template <int layout>
inline void row_sums_as(const u32* group, i64 columns, i64* sums) {
  for (int r = 0; r < lanes; ++r) sums[r] = 0;
  for (i64 start = 0; start < columns; start += 16384) {  // 2^14 words of at most 2^17 each stay below 2^32
    const i64 end = start + 16384 < columns ? start + 16384 : columns;
    u32 part[lanes] = {};
    for (i64 c = start; c < end; ++c)
      for (int r = 0; r < lanes; ++r) part[r] += sum_of_word<layout>(group[c * lanes + r]);
    for (int r = 0; r < lanes; ++r) sums[r] += part[r];
  }
}

void row_sums(int layout, const u32* group, i64 columns, i64* sums) {
  switch (layout) {
    case layout_u1: row_sums_as<layout_u1>(group, columns, sums); break;
    case layout_u2: row_sums_as<layout_u2>(group, columns, sums); break;
    case layout_u4: row_sums_as<layout_u4>(group, columns, sums); break;
    case layout_u8: row_sums_as<layout_u8>(group, columns, sums); break;
    case layout_u16: row_sums_as<layout_u16>(group, columns, sums); break;
    default: row_sums_as<layout_t5>(group, columns, sums);
  }
}

template <int layout>
inline void column_sums_as(const u32* group, i64 groups, i64 stride, int columns, i64* sums) {
  constexpr int per_word = per_word_of[layout];
  alignas(64) u32 part[column_block(per_word) * per_word * lanes] = {};
  for (i64 g = 0; g < groups; ++g)
    for (int c = 0; c < columns; ++c) {
      const u32* tile = group + g * stride + c * lanes;
      u32* to = part + c * per_word * lanes;
      for (int j = 0; j < per_word; ++j) {
        u32 codes[lanes];
        extract(layout, tile, place(layout, j), codes);
        for (int r = 0; r < lanes; ++r) to[j * lanes + r] += codes[r];
      }
    }
  for (int j = 0; j < columns * per_word; ++j)
    for (int r = 0; r < lanes; ++r) sums[j] += part[j * lanes + r];
}

void column_sums(int layout, const u32* group, i64 groups, i64 stride, int columns, i64* sums) {
  switch (layout) {
    case layout_u1: column_sums_as<layout_u1>(group, groups, stride, columns, sums); break;
    case layout_u2: column_sums_as<layout_u2>(group, groups, stride, columns, sums); break;
    case layout_u4: column_sums_as<layout_u4>(group, groups, stride, columns, sums); break;
    case layout_u8: column_sums_as<layout_u8>(group, groups, stride, columns, sums); break;
    case layout_u16: column_sums_as<layout_u16>(group, groups, stride, columns, sums); break;
    default: column_sums_as<layout_t5>(group, groups, stride, columns, sums);
  }
}
