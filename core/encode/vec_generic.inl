// 16 int16 and operations in plain loops, which any compiler turns into what vectors there are.

constexpr int side_lanes = 8;  // dwords of a Vec

struct Vec {
  std::int16_t x[2 * side_lanes];
  static Vec load(const std::int16_t* p) {
    Vec v;
    __builtin_memcpy(v.x, p, sizeof v.x);
    return v;
  }
  void store(std::int16_t* p) const { __builtin_memcpy(p, x, sizeof x); }
  static Vec pair(std::uint32_t b) {
    Vec v;
    for (int i = 0; i < 2 * side_lanes; ++i) v.x[i] = static_cast<std::int16_t>(b >> (i % 2 * 16));
    return v;
  }
};

template <typename F>
inline Vec each(Vec a, Vec b, F f) {
  Vec v;
  for (int i = 0; i < 2 * side_lanes; ++i) v.x[i] = static_cast<std::int16_t>(f(a.x[i], b.x[i]));
  return v;
}

inline int saturated(int x) { return x > 32767 ? 32767 : x < -32768 ? -32768 : x; }
inline unsigned word(int x) { return static_cast<std::uint16_t>(x); }

inline Vec add(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return x + y; });
}
inline Vec subtract(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return x - y; });
}
inline Vec add_saturated(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return saturated(x + y); });
}
inline Vec subtract_saturated(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return saturated(x - y); });
}
inline Vec multiply_high_rounded(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return (x * y + 16384) >> 15; });
}
inline Vec multiply_low(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return x * y; });
}
inline Vec multiply_high_unsigned(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return word(x) * word(y) >> 16; });
}
inline Vec maximum(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return x > y ? x : y; });
}
inline Vec exclusive_or(Vec a, Vec b) {
  return each(a, b, [](int x, int y) { return x ^ y; });
}
inline Vec absolute(Vec a) {
  return each(a, a, [](int x, int) { return x < 0 ? -x : x; });
}
inline Vec shift_left(Vec a, int by) {
  return each(a, a, [by](int x, int) { return word(x) << by; });
}

inline Vec add_where_greater(Vec sum, Vec a, Vec b, Vec addend) {
  for (int i = 0; i < 2 * side_lanes; ++i)
    sum.x[i] = static_cast<std::int16_t>(sum.x[i] + (a.x[i] > b.x[i] ? addend.x[i] : 0));
  return sum;
}

// Halves of the dwords of two vectors, the first one's low.
inline Vec low_halves(Vec a, Vec b) {
  Vec v;
  for (int i = 0; i < 2 * side_lanes; i += 2) v.x[i] = a.x[i], v.x[i + 1] = b.x[i];
  return v;
}
inline Vec high_halves(Vec a, Vec b) {
  Vec v;
  for (int i = 0; i < 2 * side_lanes; i += 2) v.x[i] = a.x[i + 1], v.x[i + 1] = b.x[i + 1];
  return v;
}
inline void store_masked(std::uint32_t* p, Vec v, const std::uint32_t* mask) {
  std::uint32_t dwords[side_lanes];
  __builtin_memcpy(dwords, v.x, sizeof dwords);
  for (int i = 0; i < side_lanes; ++i) p[i] = dwords[i] & mask[i];
}
