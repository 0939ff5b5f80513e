#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <array>
#include <optional>

#include "bindings.hpp"
#include "encode/hadamard.hpp"

namespace nanogram {
namespace {

template <typename T>
constexpr RowType row_type() {
  if constexpr (std::is_same_v<T, float>) return RowType::f32;
  if constexpr (std::is_same_v<T, double>) return RowType::f64;
  if constexpr (std::is_same_v<T, uint8_t>) return RowType::u8;
  if constexpr (std::is_same_v<T, int8_t>) return RowType::i8;
  if constexpr (std::is_same_v<T, int16_t>) return RowType::i16;
  if constexpr (std::is_same_v<T, uint16_t>) return RowType::u16;
  return RowType::i32;
}

using Mu = std::optional<In<double, 1>>;

template <typename T>
EncodeRows checked_rows(const In<T, 2>& x, const Mu& mu, double inv_grid, int limit) {
  const EncodeRows rows = {x.data(),
                           row_type<T>(),
                           static_cast<int64_t>(x.shape(0)),
                           static_cast<int64_t>(x.shape(1)),
                           mu.has_value(),
                           mu ? mu->data() : nullptr,
                           inv_grid,
                           limit};
  if (mu && mu->shape(0) != x.shape(1)) throw std::invalid_argument("mu has a different length than x has columns");
  if (!mu && rows.type != RowType::i16) throw std::invalid_argument("x needs mu and a grid unless it is int16");
  if (limit < 1 || limit > 32767) throw std::invalid_argument("limit must be from 1 to 32767");
  return rows;
}

using Thresholds = std::optional<In<int32_t, 2>>;
using Codes = std::optional<In<int64_t, 1>>;
using Bias = std::optional<In<uint16_t, 1>>;

Epilogue checked_epilogue(int kind, int layout, int64_t m, const Thresholds& thresholds, const Codes& codes,
                          int multiplier, const Bias& bias, std::array<uint32_t, 4> key) {
  if (kind < 0 || kind > 3) throw std::invalid_argument("kind must be 0, 1, 2 or 3");
  if (layout < 0 || layout > 5) throw std::invalid_argument("layout must be from 0 to 5");
  Epilogue e = {static_cast<EpilogueKind>(kind), layout, 0, nullptr, nullptr, multiplier, nullptr,
                {key[0], key[1], key[2], key[3]}};
  const bool stepped = e.kind == EpilogueKind::step || e.kind == EpilogueKind::periodic;
  if (stepped) {
    if (!thresholds || !codes || static_cast<int64_t>(thresholds->shape(1)) != m ||
        codes->shape(0) != thresholds->shape(0) + 1)
      throw std::invalid_argument("thresholds must be (L - 1, m) and codes of length L");
    constexpr int64_t code_count[6] = {2, 4, 16, 256, 65536, 3};
    for (size_t i = 0; i < codes->shape(0); ++i)
      if (codes->data()[i] < 0 || codes->data()[i] >= code_count[layout])
        throw std::invalid_argument("codes holds a code the layout has not");
    e.n_thresholds = static_cast<int>(thresholds->shape(0));
    e.thresholds = thresholds->data();
    e.codes = codes->data();
  } else if (layout == 5) {
    throw std::invalid_argument("cosines have 1, 2, 4, 8 or 16 bits");
  }
  if (e.kind != EpilogueKind::step) {
    if (!bias || static_cast<int64_t>(bias->shape(0)) != m) throw std::invalid_argument("bias must have length m");
    e.bias = bias->data();
  }
  return e;
}

template <typename T>
void define(nb::module_& m) {
  m.def(
      "quantise_rows",
      [](In<T, 2> x, In<double, 1> mu, double inv_grid, int limit, Out<int16_t, 2> out, int isa) {
        const Isa level = checked_isa(isa);
        const EncodeRows rows = checked_rows<T>(x, mu, inv_grid, limit);
        if (out.shape(0) != x.shape(0) || out.shape(1) != x.shape(1))
          throw std::invalid_argument("out has a different shape than x");
        int64_t clipped = 0;
        run_released([&](Interrupt& interrupt) { quantise_rows(level, rows, out.data(), clipped, interrupt); });
        return clipped;
      },
      nb::arg("x").noconvert(), nb::arg("mu"), nb::arg("inv_grid"), nb::arg("limit"), nb::arg("out").noconvert(),
      nb::arg("isa"));
  m.def(
      "encode_hadamard",
      [](In<T, 2> x, Mu mu, double inv_grid, int limit, In<uint32_t, 3> signs, int64_t n_columns, int kind, int layout,
         Thresholds thresholds, Codes codes, int multiplier, Bias bias, std::array<uint32_t, 4> key,
         Out<uint32_t, 3> words, int64_t row_offset, int isa) {
        const Isa level = checked_isa(isa);
        const EncodeRows rows = checked_rows<T>(x, mu, inv_grid, limit);
        if (rows.p < 1) throw std::invalid_argument("rows need a column");
        int64_t size = 1;
        while (size < rows.p) size *= 2;
        const auto n_blocks = static_cast<int64_t>(signs.shape(0));
        const auto rounds = static_cast<int>(signs.shape(1));
        if (rounds < 1 || rounds > 4 || static_cast<int64_t>(signs.shape(2)) != (size + 31) / 32)
          throw std::invalid_argument("signs must be (blocks, 1 to 4 rounds, words of a block)");
        if (n_columns < 0 || n_blocks != (n_columns + size - 1) / size)
          throw std::invalid_argument("signs has the wrong number of blocks for n_columns");
        const Epilogue e = checked_epilogue(kind, layout, n_columns, thresholds, codes, multiplier, bias, key);
        constexpr int64_t per_word[6] = {32, 16, 8, 4, 2, 20};
        const int64_t columns = (n_columns + per_word[layout] - 1) / per_word[layout];
        const auto tiles = static_cast<int64_t>(words.shape(0));
        if (static_cast<int64_t>(words.shape(1)) != columns || words.shape(2) != 16)
          throw std::invalid_argument("words has not the shape of n_columns codes in this layout");
        if (row_offset < 0 || row_offset % 16 != 0 || row_offset / 16 > tiles ||
            (rows.n + 15) / 16 > tiles - row_offset / 16)
          throw std::invalid_argument("the rows do not fit into words from row_offset, a multiple of 16, on");
        int64_t counts[2] = {0, 0};
        const HadamardJob job = {rows, signs.data(), n_blocks, rounds,
                                 size, n_columns,    e,        words.data() + row_offset / 16 * columns * 16};
        run_released([&](Interrupt& interrupt) { encode_hadamard(level, job, counts, interrupt); });
        return std::pair<int64_t, int64_t>{counts[0], counts[1]};
      },
      nb::arg("x").noconvert(), nb::arg("mu").none(), nb::arg("inv_grid"), nb::arg("limit"),
      nb::arg("signs").noconvert(), nb::arg("n_columns"), nb::arg("kind"), nb::arg("layout"),
      nb::arg("thresholds").none(), nb::arg("codes").none(), nb::arg("multiplier"), nb::arg("bias").none(),
      nb::arg("key"), nb::arg("words").noconvert(), nb::arg("row_offset"), nb::arg("isa"));
}

}  // namespace

void register_encode(nb::module_& m) {
  define<float>(m);
  define<double>(m);
  define<uint8_t>(m);
  define<int8_t>(m);
  define<int16_t>(m);
  define<uint16_t>(m);
  define<int32_t>(m);
}

}  // namespace nanogram
