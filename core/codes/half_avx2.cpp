#include "codes/half.hpp"

#if NANOGRAM_X86
#include <immintrin.h>

namespace nanogram::codes {
namespace {

void run(const std::uint16_t* halves, std::int64_t count, float* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + i))));
  for (; i < count; ++i) out[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(halves[i])));
}

}  // namespace

const Widen widen_avx2 = &run;

}  // namespace nanogram::codes
#endif
