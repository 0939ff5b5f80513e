#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings.hpp"
#include "common/threads.hpp"
#include "limits/limits.hpp"

namespace nanogram {

void register_system(nb::module_& m) {
  m.def("available_isas", [] {
    std::vector<std::string> names;
    for (int level = 0; level < isa_count; ++level)
      if (isa_available(static_cast<Isa>(level))) names.emplace_back(isa_name(static_cast<Isa>(level)));
    return names;
  });
  m.def("max_threads", &max_threads);
  m.def(
      "measure_limits",
      [](double seconds, int isa) {
        int widest = 0;
        for (int level = 0; level < isa_count; ++level)
          if (isa_available(static_cast<Isa>(level))) widest = level;
        const Isa level = checked_isa(isa < 0 ? widest : isa);
        MachineLimits limits{};
        run_released([&](Interrupt& interrupt) { limits = measure_limits(seconds, level, interrupt); });
        nb::dict result;
        result["dram_read_gbs"] = limits.dram_read_gbs;
        result["fp32_gflops"] = limits.fp32_gflops;
        result["int8_gops"] = limits.int8_gops;
        result["popcount_gops"] = limits.popcount_gops;
        return result;
      },
      nb::arg("seconds") = 0.2, nb::arg("isa") = -1);
}

}  // namespace nanogram
