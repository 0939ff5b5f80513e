// Plain C++ for every machine: loops that a compiler may turn into whatever vectors the target has.
#include "matmul/kernels.hpp"

namespace nanogram {
namespace {

using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint32_t;

constexpr int planes_of(Mode mode) { return mode_shapes[static_cast<int>(mode)].planes; }
constexpr int fields_of(Mode mode) { return mode_shapes[static_cast<int>(mode)].fields; }

// Byte b of field t, as the wide kernels take it.
template <Mode mode>
inline int32_t byte_of(uint32_t word, int t, int plane, int b) {
  const uint32_t byte = word >> (8 * b) & 255u;
  switch (mode) {
    case Mode::u1: return static_cast<int32_t>(byte >> t & 1u);
    case Mode::u2: return static_cast<int32_t>(byte >> (2 * t) & 3u);
    case Mode::u4: return static_cast<int32_t>(byte >> (4 * t) & 15u);
    case Mode::u8: return static_cast<int32_t>(byte);
    case Mode::u16: return b % 2 == 0 ? static_cast<int32_t>(word >> (8 * (b + plane)) & 255u) : 0;
    case Mode::t5: {
      constexpr uint32_t power[5] = {1, 3, 9, 27, 81};
      return static_cast<int32_t>(byte / power[t] % 3u);
    }
    case Mode::table4: {
      const uint32_t code = byte >> (2 * t) & 3u;
      return static_cast<int32_t>(plane == 0 ? code & 1u : plane == 1 ? code >> 1 : code & code >> 1 & 1u);
    }
  }
  return 0;
}

template <Mode mode, int digits>
void forward(const uint32_t* const* tiles, int64_t words, const uint32_t* digit_words, int32_t* acc) {
  for (int i = 0; i < planes_of(mode) * digits * tile_rows; ++i) acc[i] = 0;
  for (int64_t w = 0; w < words; ++w)
    for (int t = 0; t < fields_of(mode); ++t)
      for (int b = 0; b < 4; ++b)
        for (int p = 0; p < planes_of(mode); ++p) {
          int32_t bytes[tile_rows];
          for (int r = 0; r < tile_rows; ++r) bytes[r] = byte_of<mode>(tiles[0][w * tile_rows + r], t, p, b);
          for (int d = 0; d < digits; ++d) {
            const uint32_t packed = digit_words[(w * fields_of(mode) + t) * digits + d];
            const int32_t factor = static_cast<int8_t>(packed >> (8 * b) & 255u);
            int32_t* const sums = acc + (p * digits + d) * tile_rows;
            for (int r = 0; r < tile_rows; ++r) sums[r] += bytes[r] * factor;
          }
        }
}

template <Mode mode, int digits>
void backward(const uint32_t* tiles, int64_t group_stride, int64_t words, int groups, const int8_t* expanded,
              int32_t* acc, bool) {
  for (int64_t w = 0; w < words; ++w)
    for (int g = 0; g < groups; ++g) {
      const uint32_t* const tile = tiles + g * group_stride + w * tile_rows;
      for (int t = 0; t < fields_of(mode); ++t)
        for (int p = 0; p < backward_planes(mode); ++p)
          for (int b = 0; b < 4; ++b) {
            int32_t bytes[tile_rows];
            for (int r = 0; r < tile_rows; ++r)
              bytes[r] = byte_of<mode == Mode::u16 ? Mode::u8 : mode>(tile[r], t, p, b);
            for (int d = 0; d < digits; ++d) {
              const int8_t* const factors = expanded + (g * digits + d) * 64;
              int32_t sum = 0;
              for (int r = 0; r < tile_rows; ++r) sum += bytes[r] * factors[r / 4 * 16 + r % 4];
              acc[(((w * fields_of(mode) + t) * backward_planes(mode) + p) * digits + d) * 4 + b] += sum;
            }
          }
    }
}

constexpr int most_digits(int) { return 4; }

template <Mode mode, int digits>
constexpr ForwardKernel forward_entry() {
  if constexpr (digits > most_digits(0))
    return {0, 0, nullptr};
  else
    return {digits, 1, &forward<mode, digits>};
}
template <Mode mode, int digits>
constexpr BackwardKernel backward_entry() {
  if constexpr (digits > most_digits(0))
    return {0, nullptr};
  else
    return {digits, &backward<mode, digits>};
}

#include "matmul/table.inl"

}  // namespace

const MatmulKernels matmul_kernels_generic = NANOGRAM_MATMUL_KERNELS;

}  // namespace nanogram
