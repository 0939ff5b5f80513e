#include "codes/kernels.hpp"

namespace nanogram::codes {
namespace {
#include "codes/kernels_body.hpp"
}  // namespace

const Kernels kernels_generic = table;

}  // namespace nanogram::codes
