#include "common/isa.hpp"

#if NANOGRAM_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace nanogram {
namespace {

#if NANOGRAM_AMX
// Linux hands out the tile registers on request only; threads started later inherit the right.
bool tiles_granted() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned amx_tile = 1u << 24, amx_int8 = 1u << 25;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & amx_tile) == 0 || (d & amx_int8) == 0) return false;
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::generic: return "generic";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::amx: return "amx";
  }
  return "unknown";
}

bool isa_available(Isa isa) {
#if NANOGRAM_X86
  switch (isa) {
    case Isa::generic: return true;
    case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    case Isa::avx512:
      return isa_available(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq") &&
             __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bitalg");
    case Isa::amx: {
#if NANOGRAM_AMX
      static const bool granted = isa_available(Isa::avx512) && tiles_granted();
      return granted;
#else
      return false;
#endif
    }
  }
  return false;
#else
  return isa == Isa::generic;
#endif
}

}  // namespace nanogram
