// Row-lane kernels, compiled once for each instruction set inside its anonymous namespace. `vector_lanes` int32 fill
// one register; the 16 lanes of a row group are 16 / vector_lanes of them.

#include "encode_dense/cosine.inl"

template <typename V, typename T>
inline V load(const T* p) {
  return *reinterpret_cast<const V*>(p);
}
template <typename V, typename T>
inline void store(T* p, V v) {
  *reinterpret_cast<V*>(p) = v;
}

// ---------------------------------------------------------------- sparse adds

// The sum of 4 `fours` chosen rows in two chains, for the adder to overlap.
template <int fours>
inline Short add_chosen(const char* x, const std::uint16_t* entry) {
  Short even = load<Short>(x + entry[0]), odd = load<Short>(x + entry[1]);
#pragma GCC unroll 16
  for (int e = 2; e < 4 * fours; e += 2) {
    even += load<Short>(x + entry[e]);
    odd += load<Short>(x + entry[e + 1]);
  }
  return even + odd;
}

// Partial sums of `batch` fours fit int16: batch * 4 * most <= 32767.
template <int batch>
inline Long add_fours(const char* x, const std::uint16_t* entry, i64 fours) {
  Long sum = {};
  for (; fours >= batch; fours -= batch, entry += 4 * batch) sum += widened(add_chosen<batch>(x, entry));
  if (batch > 1 && fours > 0) {
    Short part = add_chosen<1>(x, entry);
    if (fours > 1) part += add_chosen<1>(x, entry + 4);
    if (fours > 2) part += add_chosen<1>(x, entry + 8);
    sum += widened(part);
  }
  return sum;
}

// Grids of 14 and 15 bits: every number is widened on its own.
template <>
inline Long add_fours<0>(const char* x, const std::uint16_t* entry, i64 fours) {
  Long sum = {};
  for (i64 e = 0; e < 4 * fours; ++e) sum += widened(load<Short>(x + entry[e]));
  return sum;
}

template <int batch>
void sparse_as(const Weights& w, const i16* x, i64 begin, i64 end, i32* acc) {
  for (i64 block = 0, first = 0; first < w.p; ++block, first += sparse_inputs) {
    const i64* starts = w.starts + block * 2 * w.m;
    const char* lanes_of = reinterpret_cast<const char*>(x + block * (sparse_inputs + 1) * lanes);
    for (i64 place = begin; place < end; ++place) {
      const i64 plus = starts[2 * place], minus = starts[2 * place + 1], stop = starts[2 * place + 2];
      Long sum = add_fours<batch>(lanes_of, w.entries + 4 * plus, minus - plus);
      sum -= add_fours<batch>(lanes_of, w.entries + 4 * minus, stop - minus);
      i32* const to = acc + (w.order[place] - begin) * lanes;
      store(to, block == 0 ? sum : sum + load<Long>(to));
    }
  }
}

void sparse(const Weights& w, const i16* x, i64 begin, i64 end, i32* acc) {
  if (w.most <= 2047)
    sparse_as<4>(w, x, begin, end, acc);
  else if (w.most <= 8191)
    sparse_as<1>(w, x, begin, end, acc);
  else
    sparse_as<0>(w, x, begin, end, acc);
}

// ---------------------------------------------------------------- tables

// All sums of `digits` weights times inputs, x = [digit][lanes].
inline void make_table(const i16* x, int base, int digits, i16* table) {
  const Short zero = {};
  store(table, zero);
  int size = 1;
  for (int d = 0; d < digits; ++d, size *= base) {
    const Short v = load<Short>(x + d * lanes);
    for (int e = 0; e < size; ++e) {
      const Short t = load<Short>(table + e * lanes);
      if (base == 3) store(table + (2 * size + e) * lanes, t + v);
      store(table + (size + e) * lanes, base == 3 ? t : t + v);
      store(table + e * lanes, t - v);
    }
  }
}

// Sums of `batch` table entries fit int16.
template <int entries, int batch>
void table_pass_as(const i16* tables, const std::uint8_t* index, i64 columns, bool first, i32* acc) {
  for (i64 j = 0; j < columns; ++j, index += table_pass, acc += lanes) {
    Long sum = {};
    if (!first) sum = load<Long>(acc);
#pragma GCC unroll 8
    for (int g = 0; g < table_pass; g += batch) {
      Short part = load<Short>(tables + (g * entries + index[g]) * lanes);
#pragma GCC unroll 8
      for (int e = g + 1; e < g + batch; ++e) part += load<Short>(tables + (e * entries + index[e]) * lanes);
      sum += widened(part);
    }
    store(acc, sum);
  }
}

template <int entries>
void table_as(const Weights& w, const i16* x, i64 begin, i64 end, i16* tables, i32* acc) {
  const i64 inputs = static_cast<i64>(table_pass) * w.digits;
  for (i64 pass = 0, first = 0; first < w.p; ++pass, first += inputs) {
    for (int g = 0; g < table_pass; ++g)
      make_table(x + (first + g * w.digits) * lanes, w.base, w.digits, tables + g * entries * lanes);
    const std::uint8_t* index = w.groups + (pass * w.m + begin) * table_pass;
    const int fit = 32767 / (w.most * w.digits);
    if (fit >= 4)
      table_pass_as<entries, 4>(tables, index, end - begin, first == 0, acc);
    else if (fit >= 2)
      table_pass_as<entries, 2>(tables, index, end - begin, first == 0, acc);
    else
      table_pass_as<entries, 1>(tables, index, end - begin, first == 0, acc);
  }
}

void table(const Weights& w, const i16* x, i64 begin, i64 end, i16* tables, i32* acc) {
  if (w.base == 3)
    table_as<81>(w, x, begin, end, tables, acc);
  else
    table_as<64>(w, x, begin, end, tables, acc);
}

// ---------------------------------------------------------------- codes

template <int steps>
void finish_steps(const Finish& f) {
  const Epilogue& e = *f.epilogue;
  const int per_word = f.places->per_word, count = steps > 0 ? steps : e.steps;
  for (i64 column = f.begin; column < f.end; column += per_word) {
    const int here = static_cast<int>(f.end - column < per_word ? f.end - column : per_word);
    const i32* acc = f.acc + (column - f.begin) * lanes;
    u32* const tile = f.tiles + (column - f.begin) / per_word * lanes;
    u32 base = 0;
    for (int j = 0; j < here; ++j) base += static_cast<u32>(e.first) * f.places->factor[j];
    for (int h = 0; h < lanes; h += vector_lanes) {
      Word word = Word{} + base;
      for (int j = 0; j < here; ++j) {
        const Int a = load<Int>(acc + j * lanes + h);
        const u32 factor = f.places->factor[j];
        for (int i = 0; i < count; ++i) {
          const Int above = a > e.thresholds[i * f.m + column + j];
          word += reinterpret_cast<Word>(above) & (static_cast<u32>(e.deltas[i]) * factor);
        }
      }
      store(tile + h, word);
    }
  }
}

#include "encode_dense/phases.inl"

// 16 random bits for each lane of eight neighbouring columns.
inline void random_bits(const Finish& f, u32 eight, u32 (*r)[lanes]) {
  const u32* const k = f.epilogue->key;
  u32 words[4][lanes];
  for (int l = 0; l < lanes; ++l) {
    const Block b = threefry({eight, 0, f.key_low[l], f.key_high[l]}, {k[0], k[1], k[2], k[3]});
    words[0][l] = b.x0, words[1][l] = b.x1, words[2][l] = b.x2, words[3][l] = b.x3;
  }
  for (int j = 0; j < 8; ++j)
    for (int l = 0; l < lanes; ++l) r[j][l] = words[j / 2][l] >> (16 * (j % 2)) & 0xFFFFu;
}

// Steps on cosines, and words that are not whole.
void finish_phases(const Finish& f) {
  const Epilogue& e = *f.epilogue;
  const int per_word = f.places->per_word, pair = e.pair ? 1 : 0;
  const u32 top = (1u << e.bits) - 1;
  const i64 begin = f.begin << pair, end = f.end << pair, from = begin + finish_cosines(f) * per_word;
  alignas(64) u32 r[8][lanes];
  for (int j = 0; j < 8; ++j)
    for (int l = 0; l < lanes; ++l) r[j][l] = 32768;
  for (i64 word_at = from; word_at < end; word_at += per_word) {
    const int here = static_cast<int>(end - word_at < per_word ? end - word_at : per_word);
    u32* const tile = f.tiles + (word_at - begin) / per_word * lanes;
    alignas(64) u32 sums[lanes] = {};
    for (int j = 0; j < here; ++j) {
      const i64 out = word_at + j, column = out >> pair;
      if (e.stochastic && (out % 8 == 0 || out == from)) random_bits(f, static_cast<u32>(out / 8), r);
      const i32* acc = f.acc + (column - f.begin) * lanes;
      const u32 bias = e.bias[column] - (pair & out ? 0x40000000u : 0u), factor = f.places->factor[j];
      for (int h = 0; h < lanes; h += vector_lanes) {
        const Word c = cos_u16((load<Word>(acc + h) * e.factor + bias) >> 16);
        Word code;
        if (e.kind == Kind::cosine) {
          code = (c * top + load<Word>(r[out % 8] + h)) >> 16;
        } else {
          code = Word{} + static_cast<u32>(e.first);
          for (int i = 0; i < e.steps; ++i)
            code += reinterpret_cast<Word>(reinterpret_cast<Int>(c) > e.thresholds[i * f.m + column]) &
                    static_cast<u32>(e.deltas[i]);
        }
        store(sums + h, load<Word>(sums + h) + code * factor);
      }
    }
    for (int h = 0; h < lanes; h += vector_lanes) store(tile + h, load<Word>(sums + h));
  }
}

void finish(const Finish& f) {
  if (f.epilogue->kind != Kind::step) return finish_phases(f);
  switch (f.epilogue->steps) {
    case 1: return finish_steps<1>(f);
    case 2: return finish_steps<2>(f);
    case 3: return finish_steps<3>(f);
    default: return finish_steps<0>(f);
  }
}
