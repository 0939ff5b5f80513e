#include <nanobind/stl/optional.h>
#include <algorithm>

#include <optional>

#include "bindings.hpp"
#include "matmul/kernels.hpp"
#include "matmul/matmul.hpp"

namespace nanogram {
namespace {

using Table = std::optional<In<double, 1>>;
using Product = bool (*)(const PackedCodes&, const RightHandSide&, double*, Isa, Interrupt&);

PackedCodes packed(const In<std::uint32_t, 3>& words, int layout, std::int64_t rows, std::int64_t columns, int zero2,
                   const Table& table) {
  if (layout < 0 || layout > static_cast<int>(Mode::t5)) throw std::invalid_argument("layout is not one of 0..5");
  const std::int64_t a_word = mode_shapes[layout].columns_a_word;
  if (rows < 0 || columns < 0 || static_cast<std::int64_t>(words.shape(0)) != (rows + tile_rows - 1) / tile_rows ||
      static_cast<std::int64_t>(words.shape(1)) != (columns + a_word - 1) / a_word || words.shape(2) != tile_rows)
    throw std::invalid_argument("words does not have the shape of rows x columns codes in this layout");
  if (table && (layout != static_cast<int>(Mode::u2) || table->shape(0) != 4))
    throw std::invalid_argument("table needs layout u2 and 4 levels");
  return {words.data(), layout, rows, columns, zero2, table ? table->data() : nullptr};
}

template <typename T>
bool product(Product compute, bool transposed, const In<std::uint32_t, 3>& words, int layout, std::int64_t rows,
             std::int64_t columns, const In<T, 2>& values, int zero2, const Table& table, double tolerance,
             int least_digits, int most_digits, const Out<double, 2>& out, int isa) {
  const PackedCodes codes = packed(words, layout, rows, columns, zero2, table);
  const RightHandSide rhs{values.data(),
                          sizeof(T) == 4,
                          static_cast<std::int64_t>(values.shape(0)),
                          static_cast<std::int64_t>(values.shape(1)),
                          tolerance * tolerance,
                          least_digits,
                          most_digits};
  if (rhs.length != (transposed ? rows : columns) ||
      static_cast<std::int64_t>(out.shape(0)) != (transposed ? columns : rows) || out.shape(1) != values.shape(1))
    throw std::invalid_argument("values or out does not agree with the shape of the codes");
  if (least_digits < 2 || most_digits > 4 || least_digits > most_digits)
    throw std::invalid_argument("digits must lie in 2..4");
  const Isa level = checked_isa(isa);
  double* const result = out.data();
  bool finite = true;
  run_released([&](Interrupt& interrupt) {
    if (rhs.length == 0) std::fill(result, result + out.size(), 0.0);
    finite = compute(codes, rhs, result, level, interrupt);
  });
  return finite;
}

template <typename T>
void define(nb::module_& m, const char* name, Product compute, bool transposed) {
  using namespace nb::literals;
  m.def(
      name,
      [=](const In<std::uint32_t, 3>& words, int layout, std::int64_t rows, std::int64_t columns,
          const In<T, 2>& values, int zero2, const Table& table, double tolerance, int least_digits, int most_digits,
          const Out<double, 2>& out, int isa) {
        return product<T>(compute, transposed, words, layout, rows, columns, values, zero2, table, tolerance,
                          least_digits, most_digits, out, isa);
      },
      "words"_a, "layout"_a, "rows"_a, "columns"_a, "values"_a.noconvert(), "zero2"_a, "table"_a.none(), "tolerance"_a,
      "least_digits"_a, "most_digits"_a, "out"_a.noconvert(), "isa"_a);
}

}  // namespace

void register_matmul(nb::module_& m) {
  define<float>(m, "matmul", &matmul, false);
  define<double>(m, "matmul", &matmul, false);
  define<float>(m, "rmatmul", &rmatmul, true);
  define<double>(m, "rmatmul", &rmatmul, true);
}

}  // namespace nanogram
