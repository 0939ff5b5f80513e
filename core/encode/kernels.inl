// The encoder of one instruction set. The including file defines Vec, a vector of `lanes` int16, and its operations
// in an anonymous namespace, then includes this within it.

using i16 = std::int16_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

#include "encode/epilogue.inl"
#include "encode/rows.inl"
#include "encode/transform.inl"

// Values waiting for a whole word, and a chunk.
constexpr i64 pending_columns = 32;

// Parts of a thread's workspace, each a multiple of 64 bytes.
struct Parts {
  i64 rows, guard, input, values, output, total;
  explicit Parts(const HadamardPlan& plan) {
    const i64 size = plan.job.size, p = plan.job.rows.p, chunk = i64{1} << plan.chunk_bits;
    i64 end = 0;
    const auto take = [&end](i64 bytes) {
      const i64 begin = end;
      end += (bytes + 63) / 64 * 64;
      return begin;
    };
    rows = take(lanes * p * 2);
    guard = take(size * 16);
    input = take(2 * size * lanes * 2);
    values = take(size * lanes * 2);
    output = take((chunk + pending_columns) * lanes * 2);
    total = end;
  }
};

i64 workspace(const HadamardPlan& plan) { return Parts(plan).total; }

// Rows side by side: dword i of a column holds rows i and i + lanes / 2. Then the same negated.
void to_lanes(const i16* __restrict rows, i64 p, i64 size, i16* __restrict out) {
  constexpr int side = lanes / 2;
  i64 j = 0;
  for (; j + side_columns <= p; j += side_columns) columns_to_lanes(rows + j, p, out + j * lanes);
  for (; j < p; ++j)
    for (int i = 0; i < side; ++i) {
      out[j * lanes + 2 * i] = rows[i * p + j];
      out[j * lanes + 2 * i + 1] = rows[(i + side) * p + j];
    }
  __builtin_memset(out + p * lanes, 0, static_cast<size_t>((size - p) * lanes) * 2);
  const Vec zero = Vec::pair(0);
  for (j = 0; j < size; ++j) subtract(zero, Vec::load(out + j * lanes)).store(out + (size + j) * lanes);
}

void encode_group(const HadamardPlan& plan, i64 row, int n, void* memory, i64 counts[2]) {
  constexpr int side = lanes / 2;
  const HadamardJob& job = plan.job;
  const i64 p = job.rows.p, size = job.size, m = job.m;
  const Parts parts(plan);
  char* const start = static_cast<char*>(memory);
  i16* const rows = reinterpret_cast<i16*>(start + parts.rows);
  i16* const input = reinterpret_cast<i16*>(start + parts.input);
  i16* const values = reinterpret_cast<i16*>(start + parts.values);
  i16* const output = reinterpret_cast<i16*>(start + parts.output);

  if (job.rows.grid)
    counts[0] += quantise(job.rows, row, n, rows);
  else
    __builtin_memcpy(rows, static_cast<const i16*>(job.rows.data) + row * p, static_cast<size_t>(n * p) * 2);
  __builtin_memset(rows + n * p, 0, static_cast<size_t>((lanes - n) * p) * 2);
  alignas(64) u64 keys[lanes] = {};
  if (job.epilogue.kind == EpilogueKind::stochastic) row_keys(rows, n, p, keys);
  const RowWords key_words(keys);
  for (int i = 0; i < n; ++i) counts[1] += guard_row(plan, rows + i * p, reinterpret_cast<u32*>(start + parts.guard));
  to_lanes(rows, p, size, input);

  alignas(64) u32 mask[lanes];
  for (int i = 0; i < lanes; ++i) mask[i] = i < n ? 0xFFFFFFFFu : 0u;
  const i64 per_word = 2 * plan.half, words = (m + per_word - 1) / per_word;
  u32* const tile = job.words + row / 16 * words * 16;
  EpilogueArguments e = {&plan, output, 0, &key_words, {tile, tile + 8, mask}};
  if constexpr (side == 16) e.tiles.high = n > 16 ? tile + words * 16 : nullptr;

  const auto n_ops = plan.ops.size();
  const i64 chunk = i64{1} << plan.chunk_bits;
  i64 pending = 0;
  for (i64 block = 0; block < job.n_blocks; ++block) {
    const u32* const tables = plan.tables.data() + block * (job.rounds - 1) * size;
    const auto arguments = [&](const HadamardOp& op) {
      return PassArguments{op.source == 0 ? input : values,
                           plan.places.data() + block * size,
                           tables + (op.table - 1) * size,
                           op.factor,
                           tables + (op.second - 1) * size,
                           values,
                           0,
                           size,
                           op.bit};
    };
    for (size_t first = 0; first < n_ops;) {
      if (!plan.ops[first].low) {
        run_pass(plan.ops[first], arguments(plan.ops[first]));
        ++first;
        continue;
      }
      size_t stop = first;
      while (stop < n_ops && plan.ops[stop].low) ++stop;
      for (i64 c = 0; c < size; c += chunk) {
        const i64 column = block * size + c;
        if (stop == n_ops && column >= m) break;
        for (size_t k = first; k < stop; ++k) {
          PassArguments a = arguments(plan.ops[k]);
          a.begin = c, a.end = c + chunk;
          a.to = k + 1 == n_ops ? output + pending * lanes : values + c * lanes;
          run_pass(plan.ops[k], a);
        }
        if (stop != n_ops) continue;
        pending += chunk < m - column ? chunk : m - column;
        const i64 ready = column + chunk >= m ? pending : pending / per_word * per_word;
        if (ready == 0) continue;
        run_epilogue(e, ready);
        pending -= ready;
        __builtin_memmove(output, output + ready * lanes, static_cast<size_t>(pending * lanes) * 2);
        e.column += ready;
        const i64 done = (ready + per_word - 1) / per_word * 16;
        e.tiles.low += done;
        if (e.tiles.high != nullptr) e.tiles.high += done;
      }
      first = stop;
    }
  }
}

constexpr EncodeKernels kernels = {lanes, &workspace, &encode_group, &quantise};
