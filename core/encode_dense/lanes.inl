// Names of the row-lane kernels' vectors: 16 rows in one, or `vector_lanes` of them in a register.

using i16 = std::int16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;

typedef i16 Short __attribute__((vector_size(32)));
typedef i32 Long __attribute__((vector_size(64)));
typedef i32 Int __attribute__((vector_size(4 * vector_lanes)));
typedef u32 Word __attribute__((vector_size(4 * vector_lanes)));
