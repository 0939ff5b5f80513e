// Part of the kernels: groups of butterflies over values in row lanes.

template <int stages>
inline __attribute__((always_inline)) void butterflies(Vec* v) {
  constexpr int size = 1 << stages;
#pragma GCC unroll 4
  for (int b = 0; b < stages; ++b)
#pragma GCC unroll 16
    for (int i = 0; i < size; ++i) {
      if (i >> b & 1) continue;
      const Vec x = v[i], y = v[i | 1 << b];
      const bool last = b == stages - 1;
      v[i] = last ? add_saturated(x, y) : add(x, y);
      v[i | 1 << b] = last ? subtract_saturated(x, y) : subtract(x, y);
    }
}

struct PassArguments {
  const i16* from;    // values, or for the first pass the rows in lanes, the negated ones after them
  const u32* places;  // of the first pass: where each column stands, or its negative
  const u32* table;   // factors by column
  u32 factor;
  const u32* second;  // factors between the two goes of a double pass
  i16* to;            // where column `begin` goes
  i64 begin, end;
  int bit;
};

template <int stages, int source, bool twice>
void pass(const PassArguments& a) {
  constexpr int size = 1 << stages;
  const i64 stride = i64{1} << a.bit;
  const Vec factor = Vec::pair(a.factor);
  for (i64 base = a.begin; base < a.end; base += stride * size)
    for (i64 l = 0; l < stride; ++l) {
      const i64 column = base + l;
      Vec v[size];
#pragma GCC unroll 16
      for (int i = 0; i < size; ++i) {
        const i64 c = column + i * stride;
        if constexpr (source == 0) {
          v[i] = Vec::load(a.from + i64{a.places[c]} * lanes);
        } else {
          v[i] = multiply_high_rounded(Vec::load(a.from + c * lanes), source == 1 ? factor : Vec::pair(a.table[c]));
        }
      }
      butterflies<stages>(v);
      if constexpr (twice) {
#pragma GCC unroll 16
        for (int i = 0; i < size; ++i) v[i] = multiply_high_rounded(v[i], Vec::pair(a.second[column + i * stride]));
        butterflies<stages>(v);
      }
#pragma GCC unroll 16
      for (int i = 0; i < size; ++i) v[i].store(a.to + (column - a.begin + i * stride) * lanes);
    }
}

template <int stages>
void pass_of(const HadamardOp& op, const PassArguments& a) {
  if (op.source == 0) return op.twice ? pass<stages, 0, true>(a) : pass<stages, 0, false>(a);
  if (op.source == 1) return op.twice ? pass<stages, 1, true>(a) : pass<stages, 1, false>(a);
  return op.twice ? pass<stages, 2, true>(a) : pass<stages, 2, false>(a);
}

void run_pass(const HadamardOp& op, const PassArguments& a) {
  switch (op.stages) {
    case 0: return pass<0, 0, false>(a);
    case 1: return pass_of<1>(op, a);
    case 2: return pass_of<2>(op, a);
    case 3: return pass_of<3>(op, a);
    default: return pass_of<4>(op, a);
  }
}
