// Plain dot products, for levels without their own.

template <typename X, typename W, int depth, int minus>
void gemm_plain(const W* tiles, i64 p, const X* const* x, i64 begin, i64 end, i32* const* acc) {
  const i64 steps = (p + depth - 1) / depth;
  for (int g = 0; g < 2; ++g)
    for (i64 j = begin; j < end; ++j) {
      const W* w = tiles + (j / gemm_columns * steps * gemm_columns + j % gemm_columns) * depth;
      i32 sum[lanes] = {};
      for (i64 k = 0; k < steps; ++k, w += gemm_columns * depth) {
        const X* at = x[g] + k * lanes * depth;
        for (int l = 0; l < lanes; ++l)
          for (int d = 0; d < depth; ++d) sum[l] += (at[l * depth + d] - minus) * w[d];
      }
      for (int l = 0; l < lanes; ++l) acc[g][(j - begin) * lanes + l] = sum[l];
    }
}

void gemm8(const Weights& w, const std::uint8_t* const* x, i64 begin, i64 end, i32* const* acc) {
  gemm_plain<std::uint8_t, std::int8_t, 4, 128>(w.tiles8, w.p, x, begin, end, acc);
}
