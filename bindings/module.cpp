// Table of contents of nanogram._core: one register function a family.
#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "nanogram's compiled core: stateless functions over NumPy arrays (use nanogram.ops instead)";
  nanogram::register_pack(m);
  nanogram::register_random(m);
  nanogram::register_matmul(m);
  nanogram::register_gram(m);
  nanogram::register_encode(m);
  nanogram::register_encode_dense(m);
  nanogram::register_system(m);
}
