// 16 int16 in a register of AVX2.

constexpr int side_lanes = 8;  // dwords of a Vec

struct Vec {
  __m256i x;
  static Vec load(const std::int16_t* p) { return {_mm256_load_si256(reinterpret_cast<const __m256i*>(p))}; }
  void store(std::int16_t* p) const { _mm256_store_si256(reinterpret_cast<__m256i*>(p), x); }
  static Vec pair(std::uint32_t b) { return {_mm256_set1_epi32(static_cast<int>(b))}; }
};

inline Vec add(Vec a, Vec b) { return {_mm256_add_epi16(a.x, b.x)}; }
inline Vec subtract(Vec a, Vec b) { return {_mm256_sub_epi16(a.x, b.x)}; }
inline Vec add_saturated(Vec a, Vec b) { return {_mm256_adds_epi16(a.x, b.x)}; }
inline Vec subtract_saturated(Vec a, Vec b) { return {_mm256_subs_epi16(a.x, b.x)}; }
inline Vec multiply_high_rounded(Vec a, Vec b) { return {_mm256_mulhrs_epi16(a.x, b.x)}; }
inline Vec multiply_low(Vec a, Vec b) { return {_mm256_mullo_epi16(a.x, b.x)}; }
inline Vec multiply_high_unsigned(Vec a, Vec b) { return {_mm256_mulhi_epu16(a.x, b.x)}; }
inline Vec maximum(Vec a, Vec b) { return {_mm256_max_epi16(a.x, b.x)}; }
inline Vec exclusive_or(Vec a, Vec b) { return {_mm256_xor_si256(a.x, b.x)}; }
inline Vec absolute(Vec a) { return {_mm256_abs_epi16(a.x)}; }
inline Vec shift_left(Vec a, int by) { return {_mm256_slli_epi16(a.x, by)}; }
inline Vec add_where_greater(Vec sum, Vec a, Vec b, Vec addend) {
  return {_mm256_add_epi16(sum.x, _mm256_and_si256(_mm256_cmpgt_epi16(a.x, b.x), addend.x))};
}

// Halves of the dwords of two vectors, the first one's low.
inline Vec low_halves(Vec a, Vec b) { return {_mm256_blend_epi16(a.x, _mm256_slli_epi32(b.x, 16), 0xAA)}; }
inline Vec high_halves(Vec a, Vec b) { return {_mm256_blend_epi16(_mm256_srli_epi32(a.x, 16), b.x, 0xAA)}; }
inline void store_masked(std::uint32_t* p, Vec v, const std::uint32_t* mask) {
  const __m256i keep = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_and_si256(v.x, keep));
}
