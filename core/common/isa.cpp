#include "common/isa.hpp"

#if NANOGRAM_X86
#include <cpuid.h>
#endif

namespace nanogram {

#if NANOGRAM_X86
namespace {
// Not every compiler's __builtin_cpu_supports knows it. The vector registers it needs are those of AVX2.
bool has_f16c() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
}  // namespace
#endif

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::generic: return "generic";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "unknown";
}

bool isa_available(Isa isa) {
#if NANOGRAM_X86
  switch (isa) {
    case Isa::generic: return true;
    case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && has_f16c();
    case Isa::avx512:
      return isa_available(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq") &&
             __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bitalg") &&
             __builtin_cpu_supports("gfni");
  }
  return false;
#else
  return isa == Isa::generic;
#endif
}

}  // namespace nanogram
