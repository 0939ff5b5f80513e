#include "encode/hadamard.hpp"
#include "random/counter.hpp"
#include "random/threefry.hpp"

namespace nanogram {
namespace {

#include "encode/vec_generic.inl"

constexpr int lanes = 2 * side_lanes;

void row_keys(const std::int16_t* x, std::int64_t n, std::int64_t p, std::uint64_t* keys) {
  counter_generic.keys_i16(x, n, p, keys);
}

// The next column: dword i is row i below row i + 8.
constexpr int side_columns = 1;
inline void columns_to_lanes(const std::int16_t* rows, std::int64_t p, std::int16_t* out) {
  for (int i = 0; i < lanes; ++i) out[i] = rows[(i / 2 + i % 2 * lanes / 2) * p];
}

#include "encode/kernels.inl"

}  // namespace

const EncodeKernels encode_generic = kernels;

}  // namespace nanogram
