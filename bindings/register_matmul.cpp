#include <nanobind/stl/optional.h>
#include <algorithm>

#include <optional>

#include "bindings.hpp"
#include "matmul/kernels.hpp"
#include "matmul/matmul.hpp"

namespace nanogram {
namespace {

using Table = std::optional<In<double, 1>>;
using Product = bool (*)(const PackedCodes&, const RightHandSide&, const Result&, Isa, Interrupt&);

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
    finite = compute(codes, rhs, {result, nullptr, rhs.columns, 1.0}, level, interrupt);
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

// A buffer of float or double, of one or two dimensions and contiguous; `plain` is false for any other object.
class PlainArray {
 public:
  PlainArray(nb::handle object, bool writable) {
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    held_ = PyObject_GetBuffer(object.ptr(), &view_, flags) == 0;
    if (!held_) {
      PyErr_Clear();
      return;
    }
    const char* const format = view_.format == nullptr ? "" : view_.format;
    is_float32 = format[0] == 'f';
    plain = (view_.ndim == 1 || view_.ndim == 2) && (is_float32 || format[0] == 'd') && format[1] == '\0' &&
            reinterpret_cast<std::uintptr_t>(view_.buf) % static_cast<std::uintptr_t>(view_.itemsize) == 0;
    if (!plain) return;
    length = view_.shape[0];
    columns = view_.ndim == 2 ? view_.shape[1] : 1;
  }
  ~PlainArray() {
    if (held_) PyBuffer_Release(&view_);
  }
  PlainArray(const PlainArray&) = delete;
  PlainArray& operator=(const PlainArray&) = delete;
  void* data() const { return view_.buf; }

  bool plain = false, is_float32 = false;
  std::int64_t length = 0, columns = 0;

 private:
  Py_buffer view_;
  bool held_;
};

// Everything of a product but the right-hand side, checked once: after a pass over much memory each Python object and
// each line of code on the way to the kernels is a miss of the cache, and products take a millisecond.
class Multiplier {
 public:
  Multiplier(const In<std::uint32_t, 3>& words, int layout, std::int64_t rows, std::int64_t columns, int zero2,
             const Table& table, double factor)
      : words_(words), codes_(packed(words, layout, rows, columns, zero2, table)), factor_(factor) {
    if (!table) return;
    std::copy(table->data(), table->data() + 4, levels_);
    codes_.table = levels_;
  }
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;

  // out = factor Z V or factor Z^T R; false, and out in any state, when an argument is not plain or not finite.
  bool multiply(nb::handle values, nb::handle out, bool transposed, double tolerance, int least_digits, int isa) const {
    const PlainArray from(values, false), to(out, true);
    if (!from.plain || !to.plain || from.columns != to.columns ||
        from.length != (transposed ? codes_.rows : codes_.columns) ||
        to.length != (transposed ? codes_.columns : codes_.rows) || from.length == 0 || to.length == 0)
      return false;
    if (least_digits < 2 || least_digits > 4) throw std::invalid_argument("digits must lie in 2..4");
    const RightHandSide rhs{
        from.data(), from.is_float32, from.length, from.columns, tolerance * tolerance, least_digits, 4};
    const Result result{to.is_float32 ? nullptr : static_cast<double*>(to.data()),
                        to.is_float32 ? static_cast<float*>(to.data()) : nullptr, to.columns, factor_};
    const Isa level = checked_isa(isa);
    bool finite = true;
    run_released(
        [&](Interrupt& interrupt) { finite = (transposed ? rmatmul : matmul)(codes_, rhs, result, level, interrupt); });
    return finite;
  }

 private:
  In<std::uint32_t, 3> words_;
  double levels_[4] = {};
  PackedCodes codes_;
  double factor_;
};

}  // namespace

void register_matmul(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Multiplier>(m, "Multiplier")
      .def(nb::init<const In<std::uint32_t, 3>&, int, std::int64_t, std::int64_t, int, const Table&, double>(),
           "words"_a, "layout"_a, "rows"_a, "columns"_a, "zero2"_a, "table"_a.none(), "factor"_a)
      .def("multiply", &Multiplier::multiply, "values"_a, "out"_a, "transposed"_a, "tolerance"_a, "least_digits"_a,
           "isa"_a);
  define<float>(m, "matmul", &matmul, false);
  define<double>(m, "matmul", &matmul, false);
  define<float>(m, "rmatmul", &rmatmul, true);
  define<double>(m, "rmatmul", &rmatmul, true);
}

}  // namespace nanogram
