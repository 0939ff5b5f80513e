// Which instruction sets this build holds and this machine can run.
#pragma once

namespace nanogram {

enum class Isa : int { generic = 0, avx2 = 1, avx512 = 2 };
inline constexpr int isa_count = 3;

const char* isa_name(Isa isa);

// True when the build contains the level and the processor and the system support it.
bool isa_available(Isa isa);

}  // namespace nanogram
