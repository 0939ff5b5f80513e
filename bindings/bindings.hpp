// Shared by the register_*.cpp files: one of them a family, each only converts arrays and calls the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

#include "common/interrupt.hpp"
#include "common/isa.hpp"

namespace nb = nanobind;

namespace nanogram {

// Read-only, C-contiguous NumPy input; a writable C-contiguous output is `Out`.
template <typename T, size_t N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <typename T, size_t N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// True when Python has a pending signal (Ctrl-C); takes the GIL for the question only.
inline bool python_wants_stop() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// Runs work(interrupt) without the GIL; raises KeyboardInterrupt when it was stopped.
template <typename Work>
void run_released(Work&& work) {
  Interrupt interrupt(&python_wants_stop);
  {
    nb::gil_scoped_release released;
    work(interrupt);
  }
  if (interrupt.stopped()) throw nb::python_error();
}

inline Isa checked_isa(int isa) {
  if (isa < 0 || isa >= isa_count || !isa_available(static_cast<Isa>(isa)))
    throw std::invalid_argument("instruction set " + std::to_string(isa) + " is not available here");
  return static_cast<Isa>(isa);
}

void register_pack(nb::module_& m);
void register_random(nb::module_& m);
void register_matmul(nb::module_& m);
void register_gram(nb::module_& m);
void register_encode(nb::module_& m);
void register_encode_dense(nb::module_& m);
void register_system(nb::module_& m);

}  // namespace nanogram
