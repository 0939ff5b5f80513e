#include "encode_dense/encode_dense.hpp"
#include "random/threefry.hpp"

namespace nanogram::dense {
namespace {

constexpr int vector_lanes = 4;
#include "encode/vec_generic.inl"
#include "encode_dense/lanes.inl"
inline Long widened(Short x) { return __builtin_convertvector(x, Long); }
#include "encode_dense/body.inl"
#include "encode_dense/gemm_plain.inl"

void gemm16(const Weights& w, const i16* const* x, i64 begin, i64 end, i32* const* acc) {
  gemm_plain<i16, i16, 2, 0>(w.tiles16, w.p, x, begin, end, acc);
}

}  // namespace

const Kernels kernels_generic = {&finish, &sparse, &table, &gemm8, &gemm16};

}  // namespace nanogram::dense
