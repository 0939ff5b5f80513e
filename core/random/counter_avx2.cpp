#if NANOGRAM_X86
#include "random/counter_kernels.hpp"

namespace nanogram {
const CounterKernels counter_avx2 = kernels;
}
#endif
