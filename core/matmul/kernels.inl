// The block kernels, once for every instruction set. The including file defines in an anonymous namespace
//   struct Vec: `dwords` 32-bit lanes with load, zero, broadcast, shr<k>, band, dot4, transpose_bytes,
//               store, add_rows_to; with NANOGRAM_WIDE_BYTES also dot4_wide, for bytes above 127;
//   struct Trits { Vec low, top; }; Trits split_trits(Vec): four two-bit trits a byte, and the fifth;
//   constexpr int accumulators: vector registers that may hold sums.
// Everything stays in that anonymous namespace: no symbol of a wide file may be shared.

using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint32_t;

template <Mode mode>
struct Fields {
  static constexpr int count = mode_shapes[static_cast<int>(mode)].fields;
  static constexpr int planes = mode_shapes[static_cast<int>(mode)].planes;
  Vec word;
  explicit Fields(Vec w) : word(w) {}

  template <int t, int plane>
  Vec get() const {
    if constexpr (mode == Mode::u1) return word.template shr<t>().band(0x01010101u);
    if constexpr (mode == Mode::u2) return word.template shr<2 * t>().band(0x03030303u);
    if constexpr (mode == Mode::u4) return word.template shr<4 * t>().band(0x0f0f0f0fu);
    if constexpr (mode == Mode::u8) return word;
    if constexpr (mode == Mode::u16) return word.template shr<8 * plane>().band(0x00ff00ffu);
    if constexpr (mode == Mode::table4) {
      if constexpr (plane == 0) return word.template shr<2 * t>().band(0x01010101u);
      if constexpr (plane == 1) return word.template shr<2 * t + 1>().band(0x01010101u);
      if constexpr (plane == 2)
        return word.template shr<2 * t>().band(word.template shr<2 * t + 1>()).band(0x01010101u);
    }
  }
};

template <>
struct Fields<Mode::t5> {
  static constexpr int count = 5;
  static constexpr int planes = 1;
  Trits trits;
  explicit Fields(Vec w) : trits(split_trits(w)) {}

  template <int t, int plane>
  Vec get() const {
    if constexpr (t < 4)
      return trits.low.template shr<2 * t>().band(0x03030303u);
    else
      return trits.top;
  }
};

// The fields of transposed words: as above, but for 16-bit codes (see backward_planes).
template <Mode mode>
struct RowFields : Fields<mode> {
  static constexpr int planes = backward_planes(mode);
  using Fields<mode>::Fields;

  template <int t, int plane>
  Vec get() const {
    if constexpr (mode == Mode::u16)
      return this->word;
    else
      return Fields<mode>::template get<t, plane>();
  }
};

template <int first, int last, class Body>
inline __attribute__((always_inline)) void unrolled(Body&& body) {
  if constexpr (first < last) {
    body.template operator()<first>();
    unrolled<first + 1, last>(body);
  }
}

template <Mode mode>
inline __attribute__((always_inline)) void add_products(Vec& sum, Vec bytes, Vec factors) {
#ifdef NANOGRAM_WIDE_BYTES
  if constexpr (mode_shapes[static_cast<int>(mode)].largest > 127) {
    sum.dot4_wide(bytes, factors);
    return;
  }
#endif
  sum.dot4(bytes, factors);
}

constexpr int vecs_a_tile = tile_rows / Vec::dwords;

constexpr int forward_groups(int sums) {
  return sums * 4 * vecs_a_tile <= accumulators ? 4 : sums * 2 * vecs_a_tile <= accumulators ? 2 : 1;
}

template <Mode mode, int digits>
void forward(const uint32_t* const* tiles, int64_t words, const uint32_t* digit_words, int32_t* acc) {
  using F = Fields<mode>;
  constexpr int groups = forward_groups(digits * F::planes);
  constexpr int vecs = groups * vecs_a_tile;
  Vec sums[F::planes][digits][vecs];
  for (auto& plane : sums)
    for (auto& digit : plane)
      for (auto& sum : digit) sum = Vec::zero();
  const uint32_t* rows[groups];
  for (int g = 0; g < groups; ++g) rows[g] = tiles[g];
  for (int64_t w = 0; w < words; ++w) {
    const uint32_t* const digit = digit_words + w * F::count * digits;
    unrolled<0, F::count>([&]<int t>() __attribute__((always_inline)) {
      Vec bytes[F::planes][vecs];
      unrolled<0, vecs>([&]<int v>() __attribute__((always_inline)) {
        const F fields(Vec::load(rows[v / vecs_a_tile] + w * tile_rows + (v % vecs_a_tile) * Vec::dwords));
        unrolled<0, F::planes>([&]<int p>()
                                   __attribute__((always_inline)) { bytes[p][v] = fields.template get<t, p>(); });
      });
      unrolled<0, digits>([&]<int d>() __attribute__((always_inline)) {
        const Vec factor = Vec::broadcast(digit[t * digits + d]);
        unrolled<0, F::planes>([&]<int p>() __attribute__((always_inline)) {
          unrolled<0, vecs>(
              [&]<int v>() __attribute__((always_inline)) { add_products<mode>(sums[p][d][v], bytes[p][v], factor); });
        });
      });
    });
  }
  for (int p = 0; p < F::planes; ++p)
    for (int d = 0; d < digits; ++d)
      for (int v = 0; v < vecs; ++v) sums[p][d][v].store(acc + (p * digits + d) * groups * tile_rows + v * Vec::dwords);
}

// Fields taken in one sweep over the rows of a block, as many as leave the sums in registers.
constexpr int fields_a_sweep(int fields, int sums) {
  int most = 1;
  for (int f = 1; f <= fields; ++f)
    if (fields % f == 0 && f * sums <= accumulators) most = f;
  return most;
}

template <Mode mode, int digits>
void backward(const uint32_t* tiles, int64_t group_stride, int64_t words, int groups, const int8_t* expanded,
              int32_t* acc, bool prefetch) {
  using F = RowFields<mode>;
  constexpr int sweep = fields_a_sweep(F::count, F::planes * digits);
  for (int64_t w = 0; w < words; ++w) {
    const uint32_t* const column = tiles + w * tile_rows;
    if (prefetch)
      for (int g = 0; g < groups; ++g) __builtin_prefetch(column + (groups + g) * group_stride, 0, 2);
    unrolled<0, F::count / sweep>([&]<int s>() __attribute__((always_inline)) {
      Vec sums[sweep][F::planes][digits];
      for (auto& field : sums)
        for (auto& plane : field)
          for (auto& sum : plane) sum = Vec::zero();
      for (int g = 0; g < groups; ++g) {
        for (int v = 0; v < vecs_a_tile; ++v) {
          const F fields(Vec::load(column + g * group_stride + v * Vec::dwords).transpose_bytes());
          const int8_t* const factors = expanded + g * digits * 64 + v * Vec::dwords * 4;
          Vec bytes[sweep][F::planes];
          unrolled<0, sweep>([&]<int f>() __attribute__((always_inline)) {
            unrolled<0, F::planes>(
                [&]<int p>() __attribute__((always_inline)) { bytes[f][p] = fields.template get<s * sweep + f, p>(); });
          });
          unrolled<0, digits>([&]<int d>() __attribute__((always_inline)) {
            const Vec factor = Vec::load(reinterpret_cast<const uint32_t*>(factors + d * 64));
            unrolled<0, sweep>([&]<int f>() __attribute__((always_inline)) {
              unrolled<0, F::planes>([&]<int p>() __attribute__((always_inline)) {
                add_products<mode>(sums[f][p][d], bytes[f][p], factor);
              });
            });
          });
        }
      }
      int32_t* const out = acc + (w * F::count + s * sweep) * F::planes * digits * 4;
      unrolled<0, sweep * F::planes * digits>([&]<int i>() __attribute__((always_inline)) {
        sums[i / (F::planes * digits)][i / digits % F::planes][i % digits].add_rows_to(out + i * 4);
      });
    });
  }
}

constexpr int most_digits(int planes) {
  // Beyond this a forward block could not keep its sums in registers, for two blocks of rows where a word has two
  // planes (it is loaded and split once for both).
  int most = digit_sizes[0];
  for (int size : digit_sizes)
    if (size * planes * vecs_a_tile * (planes == 2 ? 2 : 1) <= accumulators) most = size;
  return most;
}

template <Mode mode, int digits>
constexpr ForwardKernel forward_entry() {
  if constexpr (digits > most_digits(Fields<mode>::planes))
    return {0, 0, nullptr};
  else
    return {digits, forward_groups(digits * Fields<mode>::planes), &forward<mode, digits>};
}
template <Mode mode, int digits>
constexpr BackwardKernel backward_entry() {
  if constexpr (digits > most_digits(Fields<mode>::planes))
    return {0, nullptr};
  else
    return {digits, &backward<mode, digits>};
}

#include "matmul/table.inl"
