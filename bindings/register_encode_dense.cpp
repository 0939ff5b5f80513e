#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <optional>
#include <tuple>

#include "bindings.hpp"
#include "codes/layout.hpp"
#include "encode_dense/encode_dense.hpp"

namespace nanogram {
namespace {

using codes::ceil_div;
template <typename T>
using Maybe = std::optional<In<T, 1>>;

template <typename T>
const T* at_least(const Maybe<T>& array, std::int64_t size, const char* message) {
  if (!array || static_cast<std::int64_t>(array->shape(0)) < size) throw std::invalid_argument(message);
  return array->data();
}

// What ops/encode_dense_layouts.py prepared.
struct PyWeights {
  int path, most, base, digits;
  std::int64_t m, p;
  Maybe<std::uint8_t> groups;
  Maybe<std::uint16_t> entries;
  Maybe<std::int64_t> starts;
  Maybe<std::int32_t> order;
  Maybe<std::int8_t> tiles8;
  Maybe<std::int32_t> sums;
  Maybe<std::int16_t> tiles16;

  dense::Weights checked() const {
    if (path < 0 || path > static_cast<int>(dense::Path::gemm16))
      throw std::invalid_argument("path is not one of 0..3");
    if (m < 0 || p < 1 || most < 1 || most > 32767) throw std::invalid_argument("weights have impossible sizes");
    dense::Weights w{};
    w.path = static_cast<dense::Path>(path), w.m = m, w.p = p, w.most = most;
    constexpr const char* message = "weights do not have the size of their path";
    const std::int64_t blocks = ceil_div(m, dense::gemm_columns) * dense::gemm_columns;
    switch (w.path) {
      case dense::Path::sparse:
        w.starts = at_least(starts, 2 * m * ceil_div(p, dense::sparse_inputs) + 1, message);
        w.order = at_least(order, m, message);
        w.entries = at_least(entries, 4 * w.starts[2 * m * ceil_div(p, dense::sparse_inputs)], message);
        break;
      case dense::Path::table:
        if (!(base == 3 && digits == 4) && !(base == 2 && digits == 6))
          throw std::invalid_argument("tables are of 4 trits or 6 signs");
        if (most * digits > 32767) throw std::invalid_argument("sums of a table do not fit 16 bits");
        w.base = base, w.digits = digits;
        w.groups = at_least(groups, ceil_div(p, dense::table_pass * digits) * m * dense::table_pass, message);
        break;
      case dense::Path::gemm8:
        if (most > 127) throw std::invalid_argument("8-bit products need rows of 8 bits");
        w.tiles8 = at_least(tiles8, blocks * ceil_div(p, 4) * 4, message);
        w.sums = at_least(sums, blocks, message);
        break;
      case dense::Path::gemm16: w.tiles16 = at_least(tiles16, blocks * ceil_div(p, 2) * 2, message); break;
    }
    return w;
  }
};

using WeightFields =
    std::tuple<int, int, int, int, std::int64_t, std::int64_t, Maybe<std::uint8_t>, Maybe<std::uint16_t>,
               Maybe<std::int64_t>, Maybe<std::int32_t>, Maybe<std::int8_t>, Maybe<std::int32_t>, Maybe<std::int16_t>>;

// ops/encode_dense_reference.py says what these numbers mean.
struct PyEpilogue {
  int kind;
  std::optional<In<std::int32_t, 2>> thresholds;
  Maybe<std::int32_t> deltas;
  std::int32_t first;
  std::uint32_t factor;
  Maybe<std::uint32_t> bias;
  bool pair;
  int bits;
  std::optional<std::array<std::uint32_t, 4>> key;
  Maybe<std::uint64_t> row_keys;

  dense::Epilogue checked(std::int64_t n, std::int64_t m) const {
    if (kind < 0 || kind > static_cast<int>(dense::Kind::periodic))
      throw std::invalid_argument("kind is not one of 0..2");
    dense::Epilogue e{};
    e.kind = static_cast<dense::Kind>(kind), e.first = first, e.factor = factor;
    e.pair = pair && e.kind != dense::Kind::step, e.bits = bits;
    if (e.kind != dense::Kind::cosine) {
      if (!thresholds) throw std::invalid_argument("step codes need thresholds");
      e.steps = static_cast<int>(thresholds->shape(0));
      if (static_cast<std::int64_t>(thresholds->shape(1)) != m)
        throw std::invalid_argument("thresholds do not have a column for each weight vector");
      e.thresholds = thresholds->data();
      e.deltas = at_least(deltas, e.steps, "thresholds and deltas differ in number");
    } else if (bits < 1 || bits > 16) {
      throw std::invalid_argument("bits must lie in 1..16");
    }
    if (e.kind != dense::Kind::step) e.bias = at_least(bias, m, "bias does not have an entry for each weight vector");
    e.stochastic = e.kind == dense::Kind::cosine && key.has_value();
    if (e.stochastic) {
      for (int i = 0; i < 4; ++i) e.key[i] = (*key)[static_cast<std::size_t>(i)];
      e.row_keys = at_least(row_keys, n, "row_keys does not have an entry for each row");
    }
    return e;
  }
};

using EpilogueFields =
    std::tuple<int, std::optional<In<std::int32_t, 2>>, Maybe<std::int32_t>, std::int32_t, std::uint32_t,
               Maybe<std::uint32_t>, bool, int, std::optional<std::array<std::uint32_t, 4>>, Maybe<std::uint64_t>>;

using PyRows = std::optional<In<std::int16_t, 2>>;
using Compressed = std::optional<std::tuple<In<std::int64_t, 1>, In<std::int32_t, 1>, In<std::int16_t, 1>>>;

dense::Rows checked_rows(const PyRows& rows, const Compressed& compressed, std::int64_t p) {
  if (rows.has_value() == compressed.has_value()) throw std::invalid_argument("give rows or compressed rows, not both");
  if (rows) {
    if (static_cast<std::int64_t>(rows->shape(1)) != p)
      throw std::invalid_argument("rows and weights differ in length");
    return {rows->data(), nullptr, nullptr, nullptr, static_cast<std::int64_t>(rows->shape(0)), p};
  }
  const auto& [starts, indices, values] = *compressed;
  if (starts.shape(0) < 1) throw std::invalid_argument("compressed rows need at least one start");
  const auto n = static_cast<std::int64_t>(starts.shape(0)) - 1;
  const std::int64_t* s = starts.data();
  for (std::int64_t i = 0; i < n; ++i)
    if (s[i] > s[i + 1]) throw std::invalid_argument("starts of compressed rows must not fall");
  if (s[0] < 0 || s[n] > static_cast<std::int64_t>(indices.shape(0)) ||
      s[n] > static_cast<std::int64_t>(values.shape(0)))
    throw std::invalid_argument("starts of compressed rows leave the stored numbers");
  for (std::int64_t e = s[0]; e < s[n]; ++e)
    if (indices.data()[e] < 0 || indices.data()[e] >= p) throw std::invalid_argument("a column index leaves the row");
  return {nullptr, s, indices.data(), values.data(), n, p};
}

void encode_dense(const PyRows& rows, const Compressed& compressed, const WeightFields& weight_fields,
                  const EpilogueFields& epilogue_fields, const Out<std::uint32_t, 3>& words, int layout,
                  std::int64_t first_row, int isa) {
  const Isa level = checked_isa(isa);
  const auto weights = std::make_from_tuple<PyWeights>(weight_fields);
  const auto epilogue = std::make_from_tuple<PyEpilogue>(epilogue_fields);
  const dense::Weights w = weights.checked();
  const dense::Rows x = checked_rows(rows, compressed, w.p);
  const dense::Epilogue e = epilogue.checked(x.n, w.m);
  if (layout < 0 || layout >= codes::layout_count) throw std::invalid_argument("layout is not one of 0..5");
  const std::int64_t columns = e.pair ? 2 * w.m : w.m;
  if (first_row < 0 || static_cast<std::int64_t>(words.shape(0)) < ceil_div(first_row + x.n, codes::rows_per_tile) ||
      static_cast<std::int64_t>(words.shape(1)) != ceil_div(columns, codes::layouts[layout].per_word) ||
      words.shape(2) != codes::rows_per_tile)
    throw std::invalid_argument("words does not have room for these rows and columns");
  const dense::Target target{words.data(), layout, columns, first_row};
  run_released([&](Interrupt& interrupt) { dense::encode(level, x, w, e, target, interrupt); });
}

}  // namespace

void register_encode_dense(nb::module_& m) {
  using namespace nb::literals;
  m.def("encode_dense", &encode_dense, "rows"_a.noconvert().none(), "compressed"_a.none(), "weights"_a, "epilogue"_a,
        "words"_a.noconvert(), "layout"_a, "first_row"_a, "isa"_a);
}

}  // namespace nanogram
