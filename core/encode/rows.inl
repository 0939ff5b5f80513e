// Part of the kernels: rows on the grid, their guard, and the change from rows to lanes.

// ---------------------------------------------------------------- grid

// Adding 1.5 * 2^52 rounds to nearest (even) and leaves the integer in the low bits.
constexpr double rounder = 6755399441055744.0;

template <typename T>
i64 quantise_row(const T* __restrict x, const double* __restrict mu, double inv_grid, double limit, i64 p,
                 i16* __restrict out) {
  i64 clipped = 0;
  for (i64 j = 0; j < p; ++j) {
    double v = (static_cast<double>(x[j]) - mu[j]) * inv_grid;
    const bool high = !(v <= limit), low = v < -limit;
    clipped += static_cast<i64>(high | low);
    v = high ? limit : v;
    v = low ? -limit : v;
    out[j] = static_cast<i16>(__builtin_bit_cast(i64, v + rounder));
  }
  return clipped;
}

template <typename T>
i64 quantise_as(const EncodeRows& rows, i64 row, i64 n, i16* out) {
  i64 clipped = 0;
  for (i64 i = 0; i < n; ++i)
    clipped += quantise_row(static_cast<const T*>(rows.data) + (row + i) * rows.p, rows.mu, rows.inv_grid, rows.limit,
                            rows.p, out + i * rows.p);
  return clipped;
}

i64 quantise(const EncodeRows& rows, i64 row, i64 n, i16* out) {
  switch (rows.type) {
    case RowType::f32: return quantise_as<float>(rows, row, n, out);
    case RowType::f64: return quantise_as<double>(rows, row, n, out);
    case RowType::u8: return quantise_as<u8>(rows, row, n, out);
    case RowType::i8: return quantise_as<std::int8_t>(rows, row, n, out);
    case RowType::i16: return quantise_as<i16>(rows, row, n, out);
    case RowType::u16: return quantise_as<u16>(rows, row, n, out);
    default: return quantise_as<std::int32_t>(rows, row, n, out);
  }
}

// ---------------------------------------------------------------- guard

constexpr u64 largest_square = 7281ull * 7281ull;

inline int shift_to(u64 value, u64 limit, int bits_a_shift) {
  int shift = 0;
  while ((value >> (bits_a_shift * shift)) > limit) ++shift;
  return shift;
}

// Kept apart: gcc 12 would otherwise jam the loops around it and leave it without vectors.
template <typename T>
__attribute__((noinline)) void add_to(T* __restrict to, const T* __restrict from, i64 n) {
  for (i64 i = 0; i < n; ++i) to[i] += from[i];
}

// Sums of neighbours; `to` may be `from`.
template <typename T>
__attribute__((noinline)) void add_neighbours(const T* from, i64 n, T* to) {
#pragma GCC ivdep
  for (i64 i = 0; i < n / 2; ++i) to[i] = from[2 * i] + from[2 * i + 1];
}

// Adds up the values of a group's positions, the highest bits or the lowest (bit 0) of those that are left: `count`
// values become count >> stages.
template <typename T>
i64 fold_group(const T* from, i64 count, int bit, int stages, T* to) {
  const i64 left = count >> stages;
  if (count >> (bit + stages) != 1) {
    add_neighbours(from, count, to);
    for (int s = 1; s < stages; ++s) add_neighbours(to, count >> s, to);
    return left;
  }
  for (i64 l = 0; l < left; ++l) to[l] = from[l];
  for (i64 s = 1; s < i64{1} << stages; ++s) add_to(to, from + s * left, left);
  return left;
}

template <typename T>
u64 largest(const T* x, i64 n) {
  T most = 0;
  for (i64 i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

inline void shift_row(i16* x, i64 p, int shift) {
  for (i64 j = 0; j < p; ++j) {
    const int magnitude = (x[j] < 0 ? -x[j] : x[j]) >> shift;
    x[j] = static_cast<i16>(x[j] < 0 ? -magnitude : magnitude);
  }
}

// Shrinks a row by a power of two until 16 bits will do; true when it had to.
// `scratch` holds 2 * size dwords and size quadwords.
bool guard_row(const HadamardPlan& plan, i16* x, u32* scratch) {
  const i64 size = plan.job.size, p = plan.job.rows.p;
  const auto groups = static_cast<int>(plan.first_round.size());
  u32* const values = scratch;
  u32* const folded = scratch + size;
  u64* const squares = reinterpret_cast<u64*>(scratch + 2 * size);
  if (groups == 0) {  // one value a row
    if (x[0] != -32768) return false;
    shift_row(x, 1, 1);
    return true;
  }
  for (i64 j = 0; j < p; ++j) values[j] = static_cast<u32>(x[j] < 0 ? -x[j] : x[j]);
  for (i64 j = p; j < size; ++j) values[j] = 0;
  i64 count = fold_group(values, size, plan.first_bits[0], plan.first_round[0], folded);
  const int first = shift_to(largest(folded, count), 32767, 1);
  if (first != 0) shift_row(x, p, first);
  int more = 0;
  if (groups > 1 || plan.job.rounds > 1) {
    for (i64 j = 0; j < p; ++j) values[j] = static_cast<u32>(x[j] * x[j]);
    count = fold_group(values, size, plan.first_bits[0], plan.first_round[0], folded);
    for (i64 j = 0; j < count; ++j) squares[j] = folded[j];
    int done = plan.first_round[0];
    // The bits that are gone leave those above them lower, unless they were above themselves.
    bool upward = groups > 1 && plan.first_bits[1] > plan.first_bits[0];
    for (int g = 1; g < groups; ++g) {
      u64* const to = squares + count;
      const i64 next = fold_group(squares, count, upward ? 0 : plan.first_bits[g], plan.first_round[g], to);
      for (i64 j = 0; j < next; ++j) squares[j] = to[j];
      count = next;
      const int shift = shift_to(largest(squares, count), largest_square << done, 2);
      more = shift > more ? shift : more;
      done += plan.first_round[g];
    }
    if (plan.job.rounds > 1) {
      const int shift = shift_to(squares[0], (largest_square * static_cast<u64>(size)) >> plan.most_stages, 2);
      more = shift > more ? shift : more;
    }
    if (more != 0) shift_row(x, p, more);
  }
  return first + more != 0;
}
