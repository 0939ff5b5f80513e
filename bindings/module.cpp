// Table of contents of nanogram._core: one register function a family.
#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "nanogram's compiled core: functions over NumPy arrays, products prepared once (use nanogram.ops instead)";
  // Whoever keeps a code matrix until the interpreter ends (a cache, a frame of a test) keeps its prepared product too.
  nb::set_leak_warnings(false);
  nanogram::register_pack(m);
  nanogram::register_random(m);
  nanogram::register_matmul(m);
  nanogram::register_gram(m);
  nanogram::register_encode(m);
  nanogram::register_encode_dense(m);
  nanogram::register_system(m);
}
