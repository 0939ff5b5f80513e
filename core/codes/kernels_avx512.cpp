#if NANOGRAM_X86

#include <immintrin.h>

#include "codes/kernels.hpp"

namespace nanogram::codes {
namespace {
#include "codes/kernels_body.hpp"
}  // namespace

const Kernels kernels_avx512 = table;

}  // namespace nanogram::codes

#endif
