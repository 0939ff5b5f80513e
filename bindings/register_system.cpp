#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings.hpp"
#include "common/threads.hpp"

namespace nanogram {

void register_system(nb::module_& m) {
  m.def("available_isas", [] {
    std::vector<std::string> names;
    for (int level = 0; level < isa_count; ++level)
      if (isa_available(static_cast<Isa>(level))) names.emplace_back(isa_name(static_cast<Isa>(level)));
    return names;
  });
  m.def("max_threads", &max_threads);
}

}  // namespace nanogram
