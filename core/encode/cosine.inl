// Rounded cosines of 16-bit phases in the lanes of Vec, for encoders of every projection.

constexpr std::uint32_t pair_of(int value) { return (static_cast<std::uint32_t>(value) & 0xFFFFu) * 0x10001u; }

// cos(2 pi phase / 2^16) times 2^15 - 1/2, less 1/2; see cos_u16 of the specification.
inline Vec cosine(Vec phase) {
  const Vec b = subtract(Vec::pair(pair_of(16384)), absolute(phase));
  const Vec z = maximum(add_saturated(b, b), Vec::pair(pair_of(-32767)));
  const Vec w = multiply_high_rounded(z, z);
  Vec p = add(multiply_high_rounded(w, Vec::pair(pair_of(-145))), Vec::pair(pair_of(2598)));
  p = add(multiply_high_rounded(w, p), Vec::pair(pair_of(-21153)));
  p = add(multiply_high_rounded(w, p), Vec::pair(pair_of(18699)));
  return add_saturated(z, multiply_high_rounded(z, p));
}

// Adds the code of a cosine (of `cosine`) on 2^bits levels at place j of a register that holds 16 / bits of them. It is
// the high half of (cosine + 2^15) (2^bits - 1), plus the carry that `random` makes out of the low half.
template <int bits, bool stochastic>
inline Vec add_rounded(Vec sum, Vec s, const std::int16_t* random, int j) {
  const Vec unsign = Vec::pair(0x80008000u), flip = Vec::pair(0x7FFF7FFFu);
  const Vec carries = stochastic ? exclusive_or(Vec::load(random), flip) : Vec::pair(0xFFFFFFFFu);
  if constexpr (bits == 1) return add_where_greater(sum, s, carries, Vec::pair(pair_of(1 << j)));
  const Vec c = exclusive_or(s, unsign), scale = Vec::pair(pair_of((1 << bits) - 1));
  const Vec low = exclusive_or(multiply_low(c, scale), unsign);
  const Vec code = add_where_greater(multiply_high_unsigned(c, scale), low, carries, Vec::pair(0x00010001u));
  return add(sum, shift_left(code, bits * j));
}
