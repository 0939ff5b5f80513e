#include "random/counter.hpp"

#include <algorithm>

#include "common/threads.hpp"

namespace nanogram {
namespace {

// Entries one thread makes before it looks at the interrupt; a shared result smaller than this is not worth threads.
constexpr int64_t grain = int64_t{1} << 16;

const CounterKernels& kernels_of(Isa isa) {
#if NANOGRAM_X86
  if (isa == Isa::avx512) return counter_avx512;
  if (isa == Isa::avx2) return counter_avx2;
#endif
  (void)isa;
  return counter_generic;
}

// Calls work(unit) for each unit below n_units, spread over threads when there are several.
template <typename Work>
void for_units(int64_t n_units, Interrupt& interrupt, const Work& work) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (n_units > 1)
#endif
  for (int64_t unit = 0; unit < n_units; ++unit) {
    if (thread_index() == 0) interrupt.check();
    if (!interrupt.stopped()) work(unit);
  }
}

template <typename T>
CounterKernels::RowKeys<T> row_keys_kernel(const CounterKernels& k) {
  if constexpr (std::is_same_v<T, int8_t>) return k.keys_i8;
  if constexpr (std::is_same_v<T, uint8_t>) return k.keys_u8;
  if constexpr (std::is_same_v<T, int16_t>) return k.keys_i16;
  if constexpr (std::is_same_v<T, uint16_t>) return k.keys_u16;
  if constexpr (std::is_same_v<T, int32_t>) return k.keys_i32;
}

}  // namespace

void counter_fill(Isa isa, Law law, const CounterJob& job, Interrupt& interrupt) {
  if (job.n_rows == 0 || job.n_columns == 0) return;
  const auto fill = kernels_of(isa).fill[static_cast<int>(law)];
  const int64_t column_parts = (job.n_columns + grain - 1) / grain;
  const int64_t rows_each = std::max<int64_t>(1, grain / job.n_columns);
  const int64_t row_parts = (job.n_rows + rows_each - 1) / rows_each;
  for_units(row_parts * column_parts, interrupt, [&](int64_t unit) {
    const int64_t row = unit / column_parts * rows_each, column = unit % column_parts * grain;
    fill(job, row, std::min(row + rows_each, job.n_rows), column, std::min(column + grain, job.n_columns));
  });
}

template <typename T>
void row_keys(Isa isa, const T* x, int64_t n_rows, int64_t n_columns, uint64_t* keys, Interrupt& interrupt) {
  const auto kernel = row_keys_kernel<T>(kernels_of(isa));
  const int64_t rows_each = std::max<int64_t>(1, grain / std::max<int64_t>(1, n_columns));
  for_units((n_rows + rows_each - 1) / rows_each, interrupt, [&](int64_t unit) {
    const int64_t row = unit * rows_each;
    kernel(x + row * n_columns, std::min(rows_each, n_rows - row), n_columns, keys + row);
  });
}

template void row_keys(Isa, const int8_t*, int64_t, int64_t, uint64_t*, Interrupt&);
template void row_keys(Isa, const uint8_t*, int64_t, int64_t, uint64_t*, Interrupt&);
template void row_keys(Isa, const int16_t*, int64_t, int64_t, uint64_t*, Interrupt&);
template void row_keys(Isa, const uint16_t*, int64_t, int64_t, uint64_t*, Interrupt&);
template void row_keys(Isa, const int32_t*, int64_t, int64_t, uint64_t*, Interrupt&);

}  // namespace nanogram
