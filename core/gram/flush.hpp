// From sums to the output, shared source of the instruction sets (included as pack.hpp is).

template <typename T>
inline T load_as(const void* from, i64 index) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(from) + index * static_cast<i64>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
inline void store_as(void* to, i64 index, T value) {
  __builtin_memcpy(static_cast<char*>(to) + index * static_cast<i64>(sizeof(T)), &value, sizeof(T));
}

// The output's own memory holds the running sums: Integer until the last chunk, Float (as wide) after it.
template <typename Integer, typename Float>
inline void flush_as(const FlushJob& job) {
  for (int i = 0; i < job.rows; ++i) {
    i64* sums = job.sums + static_cast<i64>(i) * block_stride;
    const int start = job.triangle ? i : 0;
    const i64 at = (job.row + i) * job.width + job.column;
    if (!job.first)
      for (int j = start; j < job.columns; ++j) sums[j] += load_as<Integer>(job.out, at + j);
    if (!job.last) {
      for (int j = start; j < job.columns; ++j) store_as<Integer>(job.out, at + j, static_cast<Integer>(sums[j]));
      continue;
    }
    // 4 (q - z/2)(q' - z/2) = (2u + w)(2u' + w), with u = q - o the packed code and w = 2o - z. Unsigned: the terms
    // may wrap, the result does not (fits_double).
    const u64 total_a = job.totals_a != nullptr ? static_cast<u64>(job.totals_a[i]) : 0;
    const u64 base = 4 * job.shift * total_a + 2 * job.offset2 * total_a + job.length * job.offset2 * job.offset2;
    if (job.totals_b != nullptr) {
      for (int j = start; j < job.columns; ++j) {
        const u64 sum = 4 * static_cast<u64>(sums[j]) + base + 2 * job.offset2 * static_cast<u64>(job.totals_b[j]);
        sums[j] = __builtin_bit_cast(i64, static_cast<double>(static_cast<i64>(sum)) * 0.25);
      }
    } else {
      for (int j = start; j < job.columns; ++j) {
        const u64 sum = 4 * static_cast<u64>(sums[j]) + base;
        sums[j] = __builtin_bit_cast(i64, static_cast<double>(static_cast<i64>(sum)) * 0.25);
      }
    }
    for (int j = start; j < job.columns; ++j)
      store_as<Float>(job.out, at + j, static_cast<Float>(__builtin_bit_cast(double, sums[j])));
  }
  if (!job.last || !job.mirror) return;
  for (int j0 = 0; j0 < job.columns; j0 += 8) {
    const int j1 = j0 + 8 < job.columns ? j0 + 8 : job.columns;
    for (int i = 0; i < job.rows; ++i) {
      const int start = job.triangle && i + 1 > j0 ? i + 1 : j0;
      for (int j = start; j < j1; ++j)
        store_as<Float>(
            job.out, (job.column + j) * job.width + job.row + i,
            static_cast<Float>(__builtin_bit_cast(double, job.sums[static_cast<i64>(i) * block_stride + j])));
    }
  }
}

void flush(const FlushJob& job) {
  if (job.single)
    flush_as<std::int32_t, float>(job);
  else
    flush_as<i64, double>(job);
}

// Visits the tiles of a block: two groups of b stay in the first-level cache while the groups of a stream by.
template <int rows_per_tile, typename Tile>
inline void sweep(const BlockJob& job, int planes, Tile tile) {
  for (int gb0 = 0; gb0 < job.groups_b; gb0 += 2) {
    const int gb1 = gb0 + 2 < job.groups_b ? gb0 + 2 : job.groups_b;
    const int ga1 = job.triangle && gb1 < job.groups_a ? gb1 : job.groups_a;
    for (int ga = 0; ga < ga1; ++ga) {
      for (int part = 0; part < group_vectors; part += rows_per_tile) {
        for (int gb = job.triangle && ga > gb0 ? ga : gb0; gb < gb1; ++gb) {
          i64* to = job.sums + static_cast<i64>(ga * group_vectors + part) * block_stride + gb * group_vectors;
          tile(job.a + ga * job.group_bytes + part * line_bytes, job.b + gb * job.group_bytes, job.steps,
               planes * plane_bytes, to);
        }
      }
    }
  }
}
