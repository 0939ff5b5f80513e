// Packing of words into panels, shared source of the instruction sets: included once by each gram_*.cpp, inside
// its anonymous namespace and after `byte_lines`, `bit_lines` and `transpose_words`, so that each gets its own copy.

// What stands beyond the end of the sum: code 0, or code 1 where that means zero.
inline u32 fill_word(const PackJob& job) {
  if (job.format != Format::ternary) return 0;
  return job.layout == 5 ? 0x79797979u : 0x55555555u;
}

// A word of which only the first `valid` codes belong to the matrix, the rest replaced by the fill.
inline u32 fill_word_tail(const PackJob& job, u32 word, i64 valid) {
  if (job.layout != 5) {
    const u32 keep = (1u << (valid * (32 / codes_per_word[job.layout]))) - 1;
    return (word & keep) | (fill_word(job) & ~keep);
  }
  u32 result = 0;
  for (int b = 0; b < 4; ++b) {
    u32 rest = (word >> (8 * b)) & 255, byte = 0, power = 1;
    for (int t = 0; t < 5; ++t, rest /= 3, power *= 3) byte += (5 * b + t < valid ? rest % 3 : 1) * power;
    result |= byte << (8 * b);
  }
  return result;
}

inline u8* line_of(const PackJob& job, i64 vector, int plane, i64 offset) {
  return job.panel + (vector >> 2) * job.group_bytes +
         (offset >> 6) * (planes_of[static_cast<int>(job.format)] * plane_bytes) + plane * plane_bytes +
         (vector & 3) * line_bytes + (offset & 63);
}

inline void store_u64(u8* to, u64 value) { __builtin_memcpy(to, &value, 8); }

// Two bits a code in eight bit lines: planes of code 0, 2, 4, ... bits.
inline void store_ternary(const PackJob& job, i64 vector, i64 offset, const u64* bits, int codes) {
  for (int k = 0; k < codes; ++k, ++vector) {
    if (vector >= job.vectors) return;
    store_u64(line_of(job, vector, 0, offset), ~bits[2 * k]);
    store_u64(line_of(job, vector, 1, offset), bits[2 * k + 1]);
  }
}

inline void map_trits(const u8* table, const u8* from, u8* to) {
  for (int i = 0; i < 64; ++i) to[i] = table[from[i]];
}

// One unit of a word column: four byte lines of 64 rows each, to the panel.
inline void pack_unit_columns(const PackJob& job, i64 vector, i64 unit, const u8 (*lines)[64]) {
  alignas(64) u8 mapped[64];
  alignas(64) u64 bits[8];
  for (int b = 0; b < 4; ++b) {
    const u8* line = lines[b];
    if (job.format == Format::bits) {
      bit_lines(line, bits);
      for (int k = 0; k < 8 && vector < job.vectors; ++k, ++vector)
        store_u64(line_of(job, vector, 0, 8 * unit), bits[k]);
    } else if (job.format == Format::ternary && job.layout == 5) {
      map_trits(trit_tables.first, line, mapped);
      bit_lines(mapped, bits);
      store_ternary(job, vector, 8 * unit, bits, 4);
      map_trits(trit_tables.last, line, mapped);
      bit_lines(mapped, bits);
      store_ternary(job, vector + 4, 8 * unit, bits, 1);
      vector += 5;
    } else if (job.format == Format::ternary) {
      bit_lines(line, bits);
      store_ternary(job, vector, 8 * unit, bits, 4);
      vector += 4;
    } else if (job.format == Format::pairs) {
      if (vector + b / 2 < job.vectors) __builtin_memcpy(line_of(job, vector + b / 2, b % 2, 64 * unit), line, 64);
    } else {
      const int width = 32 / static_cast<int>(codes_per_word[job.layout]);
      const u8 mask = static_cast<u8>((1u << width) - 1);
      for (int k = 0; k < 8 / width && vector < job.vectors; ++k, ++vector) {
        u8* to = line_of(job, vector, 0, 64 * unit);
        for (int i = 0; i < 64; ++i) to[i] = static_cast<u8>(line[i] >> (k * width)) & mask;
      }
    }
  }
}

void pack_columns(const PackJob& job, i64 word0, i64 word1, i64 unit0, i64 unit1) {
  alignas(64) u8 lines[4][64];
  alignas(64) u32 tiles[4][16];
  const u32 fill = fill_word(job);
  const i64 per_word = codes_per_word[job.layout];
  // 32 tiles at a time: a line of each plane is written whole while the words around are still in the cache.
  for (i64 piece = unit0; piece < unit1; piece += 8) {
    const i64 end = piece + 8 < unit1 ? piece + 8 : unit1;
    for (i64 word = word0; word < word1; ++word) {
      for (i64 unit = piece; unit < end; ++unit) {
        const u32* from[4];
        for (int t = 0; t < 4; ++t) {
          const i64 tile = 4 * (job.first_unit + unit) + t, left = job.rows - 16 * tile;
          from[t] = job.words + (tile * job.word_columns + word) * 16;
          if (left >= 16) continue;
          for (int r = 0; r < 16; ++r) tiles[t][r] = r < left ? from[t][r] : fill;
          from[t] = tiles[t];
        }
        byte_lines(from, lines);
        pack_unit_columns(job, word * per_word - job.first_vector, unit, lines);
      }
    }
  }
}

// One unit of a row: 16 words.
inline void pack_unit_row(const PackJob& job, i64 vector, i64 unit, const u32* words) {
  alignas(64) u8 line[64], mapped[64];
  alignas(64) u64 bits[8];
  if (job.format == Format::ternary && job.layout == 5) {
    __builtin_memcpy(line, words, 64);
    for (int part = 0; part < 2; ++part) {
      map_trits(part == 0 ? trit_tables.first : trit_tables.last, line, mapped);
      bit_lines(mapped, bits);
      for (int k = 0; k < (part == 0 ? 4 : 1); ++k) {
        store_u64(line_of(job, vector, 0, 40 * unit + 8 * (4 * part + k)), ~bits[2 * k]);
        store_u64(line_of(job, vector, 1, 40 * unit + 8 * (4 * part + k)), bits[2 * k + 1]);
      }
    }
  } else if (planes_of[static_cast<int>(job.format)] == 2) {
    // Interleaved fields of two words, low ones to plane 0, high ones to plane 1: of one bit (u2) or one byte (u16).
    const int width = job.format == Format::ternary ? 1 : 8;
    const u32 even = width == 1 ? 0x55555555u : 0x00FF00FFu, flip = width == 1 ? ~0u : 0u;
    u32 low[8], high[8];
    for (int w = 0; w < 8; ++w) {
      const u32 x = words[w], y = words[w + 8];
      low[w] = ((x & even) | ((y & even) << width)) ^ flip;
      high[w] = ((x >> width) & even) | (y & ~even);
    }
    __builtin_memcpy(line_of(job, vector, 0, 32 * unit), low, 32);
    __builtin_memcpy(line_of(job, vector, 1, 32 * unit), high, 32);
  } else if (job.format == Format::small) {
    const int width = 32 / static_cast<int>(codes_per_word[job.layout]), parts = 8 / width;
    const u32 mask = width == 2 ? 0x03030303u : 0x0F0F0F0Fu;
    for (int part = 0; part < parts; ++part) {
      u32 codes[16];
      for (int w = 0; w < 16; ++w) codes[w] = (words[w] >> (part * width)) & mask;
      __builtin_memcpy(line_of(job, vector, 0, 64 * (parts * unit + part)), codes, 64);
    }
  } else {
    __builtin_memcpy(line_of(job, vector, 0, 64 * unit), words, 64);
  }
}

void pack_rows(const PackJob& job, i64 tile0, i64 tile1, i64 unit0, i64 unit1) {
  alignas(64) u32 by_row[16][16];
  alignas(64) u32 ragged[16][16];
  const u32 fill = fill_word(job);
  const i64 per_word = codes_per_word[job.layout];
  for (i64 tile = tile0; tile < tile1; ++tile) {
    for (i64 unit = unit0; unit < unit1; ++unit) {
      const i64 word = 16 * (job.first_unit + unit);
      const u32* from = job.words + (tile * job.word_columns + word) * 16;
      if ((word + 16) * per_word > job.columns) {
        for (int w = 0; w < 16; ++w) {
          const i64 valid = job.columns - (word + w) * per_word;
          for (int r = 0; r < 16; ++r)
            ragged[w][r] = valid >= per_word ? from[w * 16 + r]
                           : valid <= 0      ? fill
                                             : fill_word_tail(job, from[w * 16 + r], valid);
        }
        from = ragged[0];
      }
      transpose_words(from, by_row);
      const i64 vector = 16 * tile - job.first_vector;
      for (int r = 0; r < 16 && vector + r < job.vectors; ++r) pack_unit_row(job, vector + r, unit, by_row[r]);
    }
  }
}

void total(Format format, const u8* group, i64 steps, i64* totals) {
  const int planes = planes_of[static_cast<int>(format)];
  for (i64 step = 0; step < steps; ++step, group += planes * plane_bytes) {
    for (int v = 0; v < group_vectors; ++v) {
      const u8* line = group + v * line_bytes;
      if (format == Format::bits) {
        totals[v] += static_cast<i64>(popcount_line(line, line));
      } else if (format == Format::ternary) {
        totals[v] +=
            2 * static_cast<i64>(popcount_line(line, line + plane_bytes)) - static_cast<i64>(popcount_line(line, line));
      } else {
        u32 low = 0, high = 0;
        for (int i = 0; i < line_bytes; ++i) low += line[i];
        if (planes == 2)
          for (int i = 0; i < line_bytes; ++i) high += line[plane_bytes + i];
        totals[v] += low + 256 * static_cast<i64>(high);
      }
    }
  }
}

bool has_three(const u32* words, i64 count) {
  for (i64 i = 0; i < count; i += 1024) {
    const i64 end = i + 1024 < count ? i + 1024 : count;
    u32 any = 0;
    for (i64 j = i; j < end; ++j) any |= words[j] & (words[j] >> 1) & 0x55555555u;
    if (any != 0) return true;
  }
  return false;
}
