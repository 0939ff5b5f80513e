#include "matmul/quantise.hpp"

#include <cmath>
#include <limits>

#include "common/threads.hpp"

namespace nanogram {
namespace {

// Adding and taking away 1.5 * 2^52 rounds |x| < 2^51 to the nearest integer, ties to even, without a library call.
constexpr double rounding = 6755399441055744.0;

double limit_of(int n_digits) { return 127.0 * std::pow(256.0, n_digits - 1); }

constexpr std::int64_t piece = 1024;
constexpr std::int64_t most_kept = std::int64_t{1} << 22;

// Reads one column as double, lifted, in pieces that stay in the first-level cache.
template <class Body>
void for_pieces(const RightHandSide& rhs, std::int64_t column, double lift, Body&& body) {
  double buffer[piece] = {};
  for (std::int64_t start = 0; start < rhs.length; start += piece) {
    const std::int64_t count = rhs.length - start < piece ? rhs.length - start : piece;
    const std::int64_t first = start * rhs.columns + column;
    if (rhs.is_float32) {
      const float* const values = static_cast<const float*>(rhs.values) + first;
      for (std::int64_t i = 0; i < count; ++i) buffer[i] = static_cast<double>(values[i * rhs.columns]) * lift;
    } else {
      const double* const values = static_cast<const double*>(rhs.values) + first;
      for (std::int64_t i = 0; i < count; ++i) buffer[i] = values[i * rhs.columns] * lift;
    }
    for (std::int64_t i = count; i < piece && i % 8 != 0; ++i) buffer[i] = 0.0;
    body(start, buffer, count);
  }
}

// Sums and maxima run in lanes of their own, which compilers turn into vectors; the tail of a piece is filled up with
// zeros (for_pieces leaves room), which change nothing.
constexpr std::int64_t lanes = 8;

bool measure(const RightHandSide& rhs, std::int64_t column, ColumnScale& scale, ColumnNorm& norm,
             std::int32_t* integers) {
  double largest[lanes] = {};
  double finite[lanes] = {};  // stay 0 unless a NaN or an infinity is met
  for_pieces(rhs, column, 1.0, [&](std::int64_t, const double* v, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += lanes)
      for (std::int64_t l = 0; l < lanes; ++l) {
        const double magnitude = std::fabs(v[i + l]);
        largest[l] = magnitude > largest[l] ? magnitude : largest[l];
        finite[l] += v[i + l] * 0.0;
      }
  });
  double most = 0.0, odd = 0.0;
  for (std::int64_t l = 0; l < lanes; ++l) {
    most = largest[l] > most ? largest[l] : most;
    odd += finite[l];
  }
  if (odd != 0.0 || most > std::numeric_limits<double>::max()) return false;
  scale.lift = most < 1e-280 ? std::ldexp(1.0, 600) : 1.0;
  scale.largest = most * scale.lift;
  const double factor = limit_of(2) / (scale.largest == 0.0 ? 1.0 : scale.largest);
  std::int64_t norm2 = 0, nonzeros = 0;
  for_pieces(rhs, column, scale.lift, [&](std::int64_t start, const double* v, std::int64_t count) {
    double squares[lanes] = {};  // exact integers: 1024 squares below 2^30
    double others[lanes] = {};
    double whole[piece];
    for (std::int64_t i = 0; i < count; i += lanes)
      for (std::int64_t l = 0; l < lanes; ++l) {
        const double integer = (v[i + l] * factor + rounding) - rounding;
        whole[i + l] = integer;
        squares[l] += integer * integer;
        others[l] += v[i + l] != 0.0 ? 1.0 : 0.0;
      }
    for (std::int64_t l = 0; l < lanes; ++l) {
      norm2 += static_cast<std::int64_t>(squares[l]);
      nonzeros += static_cast<std::int64_t>(others[l]);
    }
    if (integers != nullptr)
      for (std::int64_t i = 0; i < count; ++i) integers[start + i] = static_cast<std::int32_t>(whole[i]);
  });
  norm = {norm2, nonzeros};
  return true;
}

}  // namespace

void reserve(const RightHandSide& rhs, Quantiser& quantiser) {
  quantiser.keep = rhs.least_digits == 2 && rhs.columns * rhs.length <= most_kept;
  quantiser.kept.resize(quantiser.keep ? static_cast<std::size_t>(rhs.columns * rhs.length) : 0);
  quantiser.columns.resize(static_cast<std::size_t>(rhs.columns));
  quantiser.norms.resize(static_cast<std::size_t>(rhs.columns));
}

bool choose_digits(const RightHandSide& rhs, Quantiser& quantiser) {
  reserve(rhs, quantiser);
  const bool keep = quantiser.keep;
  std::vector<ColumnNorm>& norms = quantiser.norms;
  int bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad) if (rhs.columns > 1 && rhs.columns * rhs.length > 65536)
  for (std::int64_t column = 0; column < rhs.columns; ++column) {
    const auto c = static_cast<std::size_t>(column);
    std::int32_t* const kept = keep ? quantiser.kept.data() + column * rhs.length : nullptr;
    if (!measure(rhs, column, quantiser.columns[c], norms[c], kept)) ++bad;
  }
  if (bad != 0) return false;
  quantiser.n_digits = rhs.least_digits;
  for (; quantiser.n_digits < rhs.most_digits; ++quantiser.n_digits) {
    const double gain = std::pow(65536.0, quantiser.n_digits - 2);
    bool enough = true;
    for (const ColumnNorm& norm : norms)
      enough = enough &&
               !(static_cast<double>(norm.nonzeros) > 12.0 * rhs.tolerance2 * static_cast<double>(norm.norm2) * gain);
    if (enough) break;
  }
  return true;
}

void take_digits(const RightHandSide& rhs, const Quantiser& quantiser, std::int64_t first_column, std::int64_t columns,
                 std::int64_t stride, DigitColumns& out) {
  const int n_digits = quantiser.n_digits;
  const double limit = limit_of(n_digits);
  out.n_digits = n_digits;
  out.stride = stride;
  out.digits.assign(static_cast<std::size_t>(columns * n_digits * stride), 0);
  out.sums.assign(static_cast<std::size_t>(columns * n_digits), 0);
  out.scale.resize(static_cast<std::size_t>(columns));
#pragma omp parallel for schedule(static) if (columns > 1 && columns * rhs.length > 65536)
  for (std::int64_t c = 0; c < columns; ++c) {
    const ColumnScale& scale = quantiser.columns[static_cast<std::size_t>(first_column + c)];
    out.scale[static_cast<std::size_t>(c)] = scale.largest / limit / scale.lift;
    const double factor = limit / (scale.largest == 0.0 ? 1.0 : scale.largest);
    std::int8_t* const digits = out.digits.data() + c * n_digits * stride;
    for_pieces(rhs, first_column + c, scale.lift, [&](std::int64_t start, const double* v, std::int64_t count) {
      std::int32_t rest[1024];
      for (std::int64_t i = 0; i < count; ++i)
        rest[i] = static_cast<std::int32_t>((v[i] * factor + rounding) - rounding);
      for (int d = 0; d < n_digits; ++d) {
        std::int8_t* const digit = digits + d * stride + start;
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          // The top digit is at most 127 by the choice of the limit; +128 cannot overflow below 2^31 - 128.
          const std::int32_t up = rest[i] + 128;
          const std::int32_t low = d + 1 < n_digits ? (up & 255) - 128 : rest[i];
          digit[i] = static_cast<std::int8_t>(low);
          sum += low;
          rest[i] = up >> 8;
        }
        out.sums[static_cast<std::size_t>(c * n_digits + d)] += sum;
      }
    });
  }
}

void take_integers(const RightHandSide& rhs, const Quantiser& quantiser, std::int64_t first_column,
                   std::int64_t columns, std::int64_t stride, IntegerColumns& out) {
  const double limit = limit_of(quantiser.n_digits);
  out.stride = stride;
  out.values.assign(static_cast<std::size_t>(columns * stride), 0);
  out.sums.assign(static_cast<std::size_t>(columns), 0);
  out.scale.resize(static_cast<std::size_t>(columns));
#pragma omp parallel for schedule(static) if (columns > 1 && columns * rhs.length > 65536)
  for (std::int64_t c = 0; c < columns; ++c) {
    const ColumnScale& scale = quantiser.columns[static_cast<std::size_t>(first_column + c)];
    out.scale[static_cast<std::size_t>(c)] = scale.largest / limit / scale.lift;
    const double factor = limit / (scale.largest == 0.0 ? 1.0 : scale.largest);
    std::int32_t* const values = out.values.data() + c * stride;
    std::int64_t sum = 0;
    if (quantiser.n_digits == 2 && !quantiser.kept.empty()) {
      const std::int32_t* const kept = quantiser.kept.data() + (first_column + c) * rhs.length;
      for (std::int64_t i = 0; i < rhs.length; ++i) {
        values[i] = kept[i];
        sum += kept[i];
      }
      out.sums[static_cast<std::size_t>(c)] = sum;
      continue;
    }
    for_pieces(rhs, first_column + c, scale.lift, [&](std::int64_t start, const double* v, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        values[start + i] = static_cast<std::int32_t>((v[i] * factor + rounding) - rounding);
        sum += values[start + i];
      }
    });
    out.sums[static_cast<std::size_t>(c)] = sum;
  }
}

}  // namespace nanogram
