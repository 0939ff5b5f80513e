#include "codes/kernels.hpp"

namespace nanogram::codes {
namespace {
#include "codes/kernels.inc"
}  // namespace

const Kernels kernels_generic = table;

}  // namespace nanogram::codes
