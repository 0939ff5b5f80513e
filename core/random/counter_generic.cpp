#include "random/counter_kernels.hpp"

namespace nanogram {
const CounterKernels counter_generic = kernels;
}
