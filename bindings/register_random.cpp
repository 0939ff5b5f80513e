#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <array>
#include <optional>

#include "bindings.hpp"
#include "random/counter.hpp"

namespace nanogram {
namespace {

using Key = std::array<uint32_t, 4>;
using Columns = std::optional<In<uint64_t, 1>>;
using Table = std::optional<In<double, 2>>;

template <typename T>
void fill(int law, Key key, uint32_t draw, In<uint64_t, 1> rows, uint64_t first_column, Columns columns, Table table,
          uint32_t threshold, Out<T, 2> out, int isa) {
  constexpr uint64_t end = uint64_t{1} << 34;
  const Isa level = checked_isa(isa);
  if (out.shape(0) != rows.shape(0)) throw std::invalid_argument("out has a different number of rows than `rows`");
  if (columns && columns->shape(0) != out.shape(1))
    throw std::invalid_argument("out has a different number of columns than `columns`");
  if (first_column >= end || out.shape(1) > end - first_column) throw std::invalid_argument("columns reach 2^34");
  const auto l = static_cast<Law>(law);
  const bool tabled = l == Law::normal32 || l == Law::normal64 || l == Law::cauchy32 || l == Law::cauchy64;
  if (tabled && (!table || table->shape(0) != normal_segments || table->shape(1) != 4))
    throw std::invalid_argument("the normal table must be 1024 x 4");
  const CounterJob job = {{key[0], key[1], key[2], key[3]},
                          draw,
                          rows.data(),
                          static_cast<int64_t>(rows.shape(0)),
                          columns ? columns->data() : nullptr,
                          first_column,
                          static_cast<int64_t>(out.shape(1)),
                          tabled ? table->data() : nullptr,
                          threshold,
                          out.data()};
  run_released([&](Interrupt& interrupt) { counter_fill(level, l, job, interrupt); });
}

template <typename T, Law... laws>
void define_fill(nb::module_& m, const char* name) {
  m.def(
      name,
      [](int law, Key key, uint32_t draw, In<uint64_t, 1> rows, uint64_t first_column, Columns columns, Table table,
         uint32_t threshold, Out<T, 2> out, int isa) {
        if (!((law == static_cast<int>(laws)) || ...)) throw std::invalid_argument("no such law for this dtype");
        fill<T>(law, key, draw, rows, first_column, columns, table, threshold, out, isa);
      },
      nb::arg("law"), nb::arg("key"), nb::arg("draw"), nb::arg("rows").noconvert(), nb::arg("first_column"),
      nb::arg("columns").none(), nb::arg("table").none(), nb::arg("threshold"), nb::arg("out").noconvert(),
      nb::arg("isa"));
}

template <typename T>
void define_row_keys(nb::module_& m) {
  m.def(
      "row_keys",
      [](In<T, 2> x, Out<uint64_t, 1> keys, int isa) {
        const Isa level = checked_isa(isa);
        if (keys.shape(0) != x.shape(0)) throw std::invalid_argument("keys has a different length than x has rows");
        if (x.shape(1) >> 34 != 0) throw std::invalid_argument("rows reach 2^34 columns");
        run_released([&](Interrupt& interrupt) {
          row_keys<T>(level, x.data(), static_cast<int64_t>(x.shape(0)), static_cast<int64_t>(x.shape(1)), keys.data(),
                      interrupt);
        });
      },
      nb::arg("x").noconvert(), nb::arg("keys").noconvert(), nb::arg("isa"));
}

}  // namespace

void register_random(nb::module_& m) {
  define_fill<uint32_t, Law::bits>(m, "counter_fill");
  define_fill<double, Law::uniform, Law::normal64, Law::cauchy64>(m, "counter_fill");
  define_fill<float, Law::normal32, Law::cauchy32>(m, "counter_fill");
  define_fill<int8_t, Law::sign, Law::ternary>(m, "counter_fill");
  define_row_keys<int8_t>(m);
  define_row_keys<uint8_t>(m);
  define_row_keys<int16_t>(m);
  define_row_keys<uint16_t>(m);
  define_row_keys<int32_t>(m);
}

}  // namespace nanogram
