#include "matmul/kernels.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram {
namespace {

constexpr int accumulators = 22;

struct Vec {
  static constexpr int dwords = 16;
  __m512i x;
  static Vec load(const std::uint32_t* p) { return {_mm512_loadu_si512(p)}; }
  static Vec zero() { return {_mm512_setzero_si512()}; }
  static Vec broadcast(std::uint32_t b) { return {_mm512_set1_epi32(static_cast<int>(b))}; }
  template <int k>
  Vec shr() const {
    if constexpr (k == 0) return *this;
    return {_mm512_srli_epi32(x, k)};
  }
  Vec band(std::uint32_t mask) const { return {_mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(mask)))}; }
  Vec band(Vec other) const { return {_mm512_and_si512(x, other.x)}; }
  // One-line assembly: gcc 12 spills the register tile around the intrinsic.
  void dot4(Vec bytes, Vec factors) { asm("vpdpbusd %2, %1, %0" : "+v"(x) : "v"(bytes.x), "v"(factors.x)); }
  // Lane of 4 rows x 4 bytes -> 4 bytes x 4 rows.
  Vec transpose_bytes() const {
    const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return {_mm512_shuffle_epi8(x, order)};
  }
  void store(std::int32_t* p) const { _mm512_storeu_si512(p, x); }
  void add_rows_to(std::int32_t* p) const {
    const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    const __m128i quarter = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    __m128i* const out = reinterpret_cast<__m128i*>(p);
    _mm_storeu_si128(out, _mm_add_epi32(_mm_loadu_si128(out), quarter));
  }
};

struct Trits {
  Vec low, top;
};

// Byte t0 + 3 t1 + 9 t2 + 27 t3 + 81 t4: the fifth trit by comparison, the others from a table of 81.
struct TritTable {
  alignas(64) std::uint8_t packed[128];
  constexpr TritTable() : packed() {
    for (int i = 0; i < 81; ++i)
      packed[i] = static_cast<std::uint8_t>(i % 3 | i / 3 % 3 << 2 | i / 9 % 3 << 4 | i / 27 << 6);
  }
};
constexpr TritTable trit_table;

inline Trits split_trits(Vec word) {
  const __m512i x = word.x;
  const __m512i fifth = _mm512_set1_epi8(81);
  const __mmask64 one = _mm512_cmpge_epu8_mask(x, fifth);
  const __mmask64 two = _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(static_cast<char>(162)));
  const __m512i unit = _mm512_set1_epi8(1);
  const __m512i top = _mm512_mask_add_epi8(_mm512_maskz_mov_epi8(one, unit), two, unit, unit);
  __m512i rest = _mm512_mask_sub_epi8(x, one, x, fifth);
  rest = _mm512_mask_sub_epi8(rest, two, rest, fifth);
  const __m512i low =
      _mm512_permutex2var_epi8(_mm512_load_si512(trit_table.packed), rest, _mm512_load_si512(trit_table.packed + 64));
  return {{low}, {top}};
}

#include "matmul/kernels.inl"

}  // namespace

const MatmulKernels matmul_kernels_avx512 = NANOGRAM_MATMUL_KERNELS;

}  // namespace nanogram
#endif
