#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <variant>

#include "bindings.hpp"
#include "gram/gram.hpp"

namespace nanogram {

namespace {

using Words = In<std::uint32_t, 3>;
using Result = std::variant<Out<float, 2>, Out<double, 2>>;

std::string shape_text(std::int64_t a, std::int64_t b) {
  return "(" + std::to_string(a) + ", " + std::to_string(b) + ")";
}

gram::Packed checked_words(const char* name, const Words& words, std::int64_t rows, std::int64_t columns, int layout) {
  if (rows < 0 || columns < 0)
    throw nb::value_error((std::string(name) + ": " + shape_text(rows, columns) + " is no shape").c_str());
  const std::int64_t per_word = gram::codes_per_word[layout];
  const std::int64_t tiles = rows / 16 + (rows % 16 != 0), across = columns / per_word + (columns % per_word != 0);
  if (static_cast<std::int64_t>(words.shape(0)) != tiles || static_cast<std::int64_t>(words.shape(1)) != across ||
      words.shape(2) != 16)
    throw nb::value_error((std::string(name) + " has shape (" + std::to_string(words.shape(0)) + ", " +
                           std::to_string(words.shape(1)) + ", " + std::to_string(words.shape(2)) +
                           "); codes of shape " + shape_text(rows, columns) + " in layout " + std::to_string(layout) +
                           " take (" + std::to_string(tiles) + ", " + std::to_string(across) + ", 16)")
                              .c_str());
  return {words.data(), rows, columns};
}

int checked_layout(int layout) {
  if (layout < 0 || layout >= gram::layout_count)
    throw nb::value_error(("layout is " + std::to_string(layout) + "; it must be 0 to 5").c_str());
  return layout;
}

void multiply(gram::Along along, const Words& words_a, std::int64_t vectors_a, const std::optional<Words>& words_b,
              std::int64_t vectors_b, std::int64_t length, int layout, std::int64_t zero2, const Result& out, int isa) {
  const bool rows = along == gram::Along::rows;
  checked_layout(layout);
  if (zero2 < 0 || zero2 > gram::largest_zero2)
    throw nb::value_error(
        ("zero2 is " + std::to_string(zero2) + "; it must be 0 to " + std::to_string(gram::largest_zero2)).c_str());
  gram::Product product{};
  product.along = along;
  product.layout = layout;
  product.zero2 = zero2;
  product.symmetric = !words_b.has_value();
  product.a = checked_words("words", words_a, rows ? length : vectors_a, rows ? vectors_a : length, layout);
  if (words_b) {
    product.b = checked_words("other", *words_b, rows ? length : vectors_b, rows ? vectors_b : length, layout);
  } else if (vectors_a != vectors_b) {
    throw nb::value_error(("without other the product is " + shape_text(vectors_a, vectors_a) + ", not " +
                           shape_text(vectors_a, vectors_b))
                              .c_str());
  }
  std::visit(
      [&](const auto& array) {
        if (static_cast<std::int64_t>(array.shape(0)) != vectors_a ||
            static_cast<std::int64_t>(array.shape(1)) != vectors_b)
          throw nb::value_error(
              ("out has shape " +
               shape_text(static_cast<std::int64_t>(array.shape(0)), static_cast<std::int64_t>(array.shape(1))) +
               "; the product is " + shape_text(vectors_a, vectors_b))
                  .c_str());
        product.out = array.data();
      },
      out);
  product.single = std::holds_alternative<Out<float, 2>>(out);
  if (product.single && !gram::fits_single(layout, length))
    throw nb::value_error(("sums of " + std::to_string(length) + " products in layout " + std::to_string(layout) +
                           " may not fit the 32-bit integers behind a float32 out; use float64")
                              .c_str());
  if (!gram::fits_double(layout, length, zero2))
    throw nb::value_error(("sums of " + std::to_string(length) + " products may not fit 64-bit integers").c_str());
  const Isa level = checked_isa(isa);
  run_released([&](Interrupt& interrupt) { gram::multiply(product, level, interrupt); });
}

}  // namespace

void register_gram(nb::module_& m) {
  m.def(
      "gram",
      [](Words words, std::int64_t n_rows, std::int64_t n_columns, std::optional<Words> other,
         std::int64_t other_columns, int layout, std::int64_t zero2, Result out, int isa) {
        multiply(gram::Along::rows, words, n_columns, other, other_columns, n_rows, layout, zero2, out, isa);
      },
      nb::arg("words").noconvert(), nb::arg("n_rows"), nb::arg("n_columns"), nb::arg("other").none().noconvert(),
      nb::arg("other_columns"), nb::arg("layout"), nb::arg("zero2"), nb::arg("out").noconvert(), nb::arg("isa"));
  m.def(
      "kernel",
      [](Words words, std::int64_t n_rows, std::optional<Words> other, std::int64_t other_rows, std::int64_t n_columns,
         int layout, std::int64_t zero2, Result out, int isa) {
        multiply(gram::Along::columns, words, n_rows, other, other_rows, n_columns, layout, zero2, out, isa);
      },
      nb::arg("words").noconvert(), nb::arg("n_rows"), nb::arg("other").none().noconvert(), nb::arg("other_rows"),
      nb::arg("n_columns"), nb::arg("layout"), nb::arg("zero2"), nb::arg("out").noconvert(), nb::arg("isa"));
}

}  // namespace nanogram
