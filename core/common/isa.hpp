// Which instruction sets this build holds and this machine can run.
#pragma once

namespace nanogram {

// Each level holds what the ones before it hold: a routine without a kernel of its own takes the next lower one.
enum class Isa : int { generic = 0, avx2 = 1, avx512 = 2, amx = 3 };
inline constexpr int isa_count = 4;

const char* isa_name(Isa isa);

// True when the build contains the level and the processor and the system support it. Asking for amx asks the system
// for the right to use its registers, once, for the whole process.
bool isa_available(Isa isa);

}  // namespace nanogram
