#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <tuple>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "bindings.hpp"
#include "codes/half.hpp"
#include "codes/pack.hpp"

namespace nanogram {
namespace {

using codes::Layout;
using codes::Source;
using codes::Target;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using Words = nb::ndarray<nb::numpy, u32, nb::ndim<3>>;
using Rows = std::optional<In<i64, 1>>;

// A new NumPy array, aligned to a tile, that owns its memory.
template <typename T, size_t N>
nb::ndarray<nb::numpy, T, nb::ndim<N>> new_array(const std::array<i64, N>& shape) {
  size_t size = sizeof(T);
  std::array<size_t, N> dims;
  for (size_t i = 0; i < N; ++i) {
    dims[i] = static_cast<size_t>(shape[i]);
    if (__builtin_mul_overflow(size, dims[i], &size)) throw std::bad_alloc();
  }
  void* memory = ::operator new(size == 0 ? 1 : size, std::align_val_t(64));
#ifdef __linux__
  // As NumPy does for large arrays: products then read codes without a miss of the TLB on every page.
  constexpr size_t large = size_t{1} << 22, page = 4096;
  if (size >= large) {
    const auto start = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(start), (size - page) / page * page, MADV_HUGEPAGE);
  }
#endif
  nb::capsule owner(memory, [](void* p) noexcept { ::operator delete(p, std::align_val_t(64)); });
  return nb::ndarray<nb::numpy, T, nb::ndim<N>>(memory, N, dims.data(), owner);
}

std::string number(i64 value) { return std::to_string(value); }

const Layout& checked_layout(int index) {
  if (index < 0 || index >= codes::layout_count)
    throw std::invalid_argument("layout " + std::to_string(index) + " is unknown; 0 to " +
                                std::to_string(codes::layout_count - 1) + " are accepted");
  return codes::layouts[index];
}

Source checked_words(const In<u32, 3>& words, int layout, i64 n, i64 m) {
  const Layout& found = checked_layout(layout);
  if (n < 0 || m < 0) throw std::invalid_argument("shape (" + number(n) + ", " + number(m) + ") is negative");
  // The words bound n and m before anything is computed from them: no overflow with a hostile shape.
  const i64 groups = static_cast<i64>(words.shape(0)), columns = static_cast<i64>(words.shape(1));
  if (words.shape(2) != codes::rows_per_tile || groups != n / 16 + (n % 16 != 0) ||
      columns != m / found.per_word + (m % found.per_word != 0))
    throw std::invalid_argument("words has shape (" + number(groups) + ", " + number(columns) + ", " +
                                std::to_string(words.shape(2)) + "), not that of " + number(n) + " x " + number(m) +
                                " codes, " + std::to_string(found.per_word) + " a word");
  return {words.data(), found, n, m};
}

Words new_words(const Layout& layout, i64 n, i64 m) {
  return new_array<u32, 3>({codes::ceil_div(n, 16), codes::ceil_div(m, layout.per_word), 16});
}

void check_fits(u32 largest, const Layout& layout) {
  if (static_cast<i64>(largest) >= layout.n_codes)
    throw nb::value_error(
        ("codes go up to " + std::to_string(largest) + "; the layout holds 0 to " + number(layout.n_codes - 1))
            .c_str());
}

void check_index(const i64* index, size_t count, i64 length, const char* name) {
  for (size_t i = 0; i < count; ++i)
    if (index[i] < 0 || index[i] >= length)
      throw nb::index_error((std::string(name) + " holds " + number(index[i]) + " at place " + std::to_string(i) +
                             "; 0 to " + number(length - 1) + " are accepted")
                                .c_str());
}

template <typename Code>
Words pack(const In<Code, 2>& array, int layout, int isa) {
  const Isa level = checked_isa(isa);
  const Layout& found = checked_layout(layout);
  const i64 n = static_cast<i64>(array.shape(0)), m = static_cast<i64>(array.shape(1));
  Words words = new_words(found, n, m);
  const Target to{words.data(), found, n, m};
  u32 largest = 0;
  run_released([&](Interrupt& interrupt) { largest = codes::pack(array.data(), to, level, interrupt); });
  check_fits(largest, found);
  return words;
}

template <typename Code>
nb::object unpacked(Source from, const i64* rows, i64 count, Isa level) {
  auto out = new_array<Code, 2>({count, from.m});
  run_released([&](Interrupt& interrupt) { codes::unpack(from, rows, count, out.data(), level, interrupt); });
  return nb::cast(out);
}

nb::object unpack(const In<u32, 3>& words, int layout, i64 n, i64 m, int isa) {
  const Source from = checked_words(words, layout, n, m);
  const Isa level = checked_isa(isa);
  return from.layout.wide ? unpacked<std::uint16_t>(from, nullptr, n, level)
                          : unpacked<std::uint8_t>(from, nullptr, n, level);
}

nb::object unpack_rows(const In<u32, 3>& words, int layout, i64 n, i64 m, const In<i64, 1>& rows, int isa) {
  const Source from = checked_words(words, layout, n, m);
  const Isa level = checked_isa(isa);
  check_index(rows.data(), rows.size(), n, "rows");
  const i64 count = static_cast<i64>(rows.size());
  return from.layout.wide ? unpacked<std::uint16_t>(from, rows.data(), count, level)
                          : unpacked<std::uint8_t>(from, rows.data(), count, level);
}

Words convert(const In<u32, 3>& words, int layout, int to_layout, i64 n, i64 m, int isa) {
  const Source from = checked_words(words, layout, n, m);
  const Layout& found = checked_layout(to_layout);
  const Isa level = checked_isa(isa);
  Words out = new_words(found, n, m);
  const Target to{out.data(), found, n, m};
  u32 largest = 0;
  run_released([&](Interrupt& interrupt) { largest = codes::convert(from, to, level, interrupt); });
  check_fits(largest, found);
  return out;
}

Words take_columns(const In<u32, 3>& words, int layout, i64 n, i64 m, const In<i64, 1>& columns, int isa) {
  const Source from = checked_words(words, layout, n, m);
  const Isa level = checked_isa(isa);
  check_index(columns.data(), columns.size(), m, "columns");
  const i64 count = static_cast<i64>(columns.size());
  Words out = new_words(from.layout, n, count);
  const Target to{out.data(), from.layout, n, count};
  run_released([&](Interrupt& interrupt) { codes::take_columns(from, columns.data(), to, level, interrupt); });
  return out;
}

std::tuple<Words, Words, Words> split_planes(const In<u32, 3>& words, i64 n, i64 m, int isa) {
  const Source from = checked_words(words, 1, n, m);
  const Isa level = checked_isa(isa);
  const Layout& bit = codes::layouts[0];
  Words low = new_words(bit, n, m), high = new_words(bit, n, m), both = new_words(bit, n, m);
  run_released([&](Interrupt& interrupt) {
    codes::split_planes(from, {low.data(), bit, n, m}, {high.data(), bit, n, m}, {both.data(), bit, n, m}, level,
                        interrupt);
  });
  return {low, high, both};
}

nb::ndarray<nb::numpy, i64, nb::ndim<1>> row_sums(const In<u32, 3>& words, int layout, i64 n, i64 m, int isa) {
  const Source from = checked_words(words, layout, n, m);
  const Isa level = checked_isa(isa);
  auto sums = new_array<i64, 1>({n});
  run_released([&](Interrupt& interrupt) { codes::row_sums(from, sums.data(), level, interrupt); });
  return sums;
}

nb::ndarray<nb::numpy, i64, nb::ndim<1>> column_sums(const In<u32, 3>& words, int layout, i64 n, i64 m, int isa) {
  const Source from = checked_words(words, layout, n, m);
  const Isa level = checked_isa(isa);
  auto sums = new_array<i64, 1>({m});
  run_released([&](Interrupt& interrupt) { codes::column_sums(from, sums.data(), level, interrupt); });
  return sums;
}

template <typename Float>
void decode(const In<u32, 3>& words, int layout, i64 n, i64 m, const Rows& rows,
            const std::optional<In<float, 1>>& levels, const std::optional<In<double, 1>>& scale,
            const std::optional<In<double, 1>>& offset, int zero2, const Out<Float, 2>& out, int isa) {
  const Source from = checked_words(words, layout, n, m);
  const Isa level = checked_isa(isa);
  if (rows) check_index(rows->data(), rows->size(), n, "rows");
  const i64 count = rows ? static_cast<i64>(rows->size()) : n;
  if (static_cast<i64>(out.shape(0)) != count || static_cast<i64>(out.shape(1)) != m)
    throw std::invalid_argument("out has shape (" + std::to_string(out.shape(0)) + ", " + std::to_string(out.shape(1)) +
                                "); expected (" + number(count) + ", " + number(m) + ")");
  codes::Decoder decoder;
  if (levels.has_value() == scale.has_value() || scale.has_value() != offset.has_value())
    throw std::invalid_argument("give either levels, or scale and offset");
  if (levels) {
    if (static_cast<i64>(levels->size()) != from.layout.n_codes)
      throw std::invalid_argument("levels has " + std::to_string(levels->size()) + " entries; the layout has " +
                                  number(from.layout.n_codes) + " codes");
    decoder.levels = levels->data();
  } else {
    if (static_cast<i64>(scale->size()) != m || static_cast<i64>(offset->size()) != m)
      throw std::invalid_argument("scale has " + std::to_string(scale->size()) + " entries and offset " +
                                  std::to_string(offset->size()) + "; there are " + number(m) + " columns");
    decoder.scale = scale->data();
    decoder.offset = offset->data();
    decoder.centre = 0.5 * zero2;
  }
  run_released([&](Interrupt& interrupt) {
    codes::decode(from, rows ? rows->data() : nullptr, count, decoder, out.data(), level, interrupt);
  });
}

}  // namespace

void register_pack(nb::module_& m) {
  m.def(
      "widen",
      [](const In<std::uint16_t, 1>& halves, const Out<float, 1>& out, int isa) {
        if (halves.shape(0) != out.shape(0)) throw std::invalid_argument("halves and out differ in length");
        const Isa level = checked_isa(isa);
        run_released([&](Interrupt& interrupt) {
          codes::widen(halves.data(), static_cast<i64>(halves.shape(0)), out.data(), level, interrupt);
        });
      },
      nb::arg("halves"), nb::arg("out").noconvert(), nb::arg("isa"));
  // noconvert where overloads or outputs must see the array itself, not a converted copy.
  m.def("pack", &pack<std::uint8_t>, nb::arg("codes").noconvert(), nb::arg("layout"), nb::arg("isa"));
  m.def("pack", &pack<std::uint16_t>, nb::arg("codes").noconvert(), nb::arg("layout"), nb::arg("isa"));
  m.def("unpack", &unpack, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("n"), nb::arg("m"), nb::arg("isa"));
  m.def("unpack_rows", &unpack_rows, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("n"), nb::arg("m"),
        nb::arg("rows").noconvert(), nb::arg("isa"));
  m.def("convert", &convert, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("to_layout"), nb::arg("n"),
        nb::arg("m"), nb::arg("isa"));
  m.def("take_columns", &take_columns, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("n"), nb::arg("m"),
        nb::arg("columns").noconvert(), nb::arg("isa"));
  m.def("split_planes", &split_planes, nb::arg("words").noconvert(), nb::arg("n"), nb::arg("m"), nb::arg("isa"));
  m.def("row_sums", &row_sums, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("n"), nb::arg("m"),
        nb::arg("isa"));
  m.def("column_sums", &column_sums, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("n"), nb::arg("m"),
        nb::arg("isa"));
  m.def("decode", &decode<float>, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("n"), nb::arg("m"),
        nb::arg("rows").none().noconvert(), nb::arg("levels").none().noconvert(), nb::arg("scale").none().noconvert(),
        nb::arg("offset").none().noconvert(), nb::arg("zero2"), nb::arg("out").noconvert(), nb::arg("isa"));
  m.def("decode", &decode<double>, nb::arg("words").noconvert(), nb::arg("layout"), nb::arg("n"), nb::arg("m"),
        nb::arg("rows").none().noconvert(), nb::arg("levels").none().noconvert(), nb::arg("scale").none().noconvert(),
        nb::arg("offset").none().noconvert(), nb::arg("zero2"), nb::arg("out").noconvert(), nb::arg("isa"));
}

}  // namespace nanogram
