// 32 int16 in a register of AVX-512.

constexpr int side_lanes = 16;  // dwords of a Vec

struct Vec {
  __m512i x;
  static Vec load(const std::int16_t* p) { return {_mm512_load_si512(p)}; }
  void store(std::int16_t* p) const { _mm512_store_si512(p, x); }
  static Vec pair(std::uint32_t b) { return {_mm512_set1_epi32(static_cast<int>(b))}; }
};

inline Vec add(Vec a, Vec b) { return {_mm512_add_epi16(a.x, b.x)}; }
inline Vec subtract(Vec a, Vec b) { return {_mm512_sub_epi16(a.x, b.x)}; }
inline Vec add_saturated(Vec a, Vec b) { return {_mm512_adds_epi16(a.x, b.x)}; }
inline Vec subtract_saturated(Vec a, Vec b) { return {_mm512_subs_epi16(a.x, b.x)}; }
inline Vec multiply_high_rounded(Vec a, Vec b) { return {_mm512_mulhrs_epi16(a.x, b.x)}; }
inline Vec multiply_low(Vec a, Vec b) { return {_mm512_mullo_epi16(a.x, b.x)}; }
inline Vec multiply_high_unsigned(Vec a, Vec b) { return {_mm512_mulhi_epu16(a.x, b.x)}; }
inline Vec maximum(Vec a, Vec b) { return {_mm512_max_epi16(a.x, b.x)}; }
inline Vec exclusive_or(Vec a, Vec b) { return {_mm512_xor_si512(a.x, b.x)}; }
inline Vec absolute(Vec a) { return {_mm512_abs_epi16(a.x)}; }
inline Vec shift_left(Vec a, int by) { return {_mm512_slli_epi16(a.x, static_cast<unsigned>(by))}; }
inline Vec add_where_greater(Vec sum, Vec a, Vec b, Vec addend) {
  return {_mm512_mask_add_epi16(sum.x, _mm512_cmpgt_epi16_mask(a.x, b.x), sum.x, addend.x)};
}

// Halves of the dwords of two vectors, the first one's low.
inline Vec low_halves(Vec a, Vec b) { return {_mm512_mask_blend_epi16(0xAAAAAAAAu, a.x, _mm512_slli_epi32(b.x, 16))}; }
inline Vec high_halves(Vec a, Vec b) { return {_mm512_mask_blend_epi16(0xAAAAAAAAu, _mm512_srli_epi32(a.x, 16), b.x)}; }
inline void store_masked(std::uint32_t* p, Vec v, const std::uint32_t* mask) {
  _mm512_storeu_si512(p, _mm512_and_si512(v.x, _mm512_load_si512(mask)));
}
