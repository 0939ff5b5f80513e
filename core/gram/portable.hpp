// Primitives of pack.hpp without intrinsics; included inside an anonymous namespace like it.

// Four tiles of 16 words to four lines of 64 bytes: byte b of each word.
inline void byte_lines_portable(const u32* const* tiles, u8 (*lines)[64]) {
  for (int t = 0; t < 4; ++t)
    for (int b = 0; b < 4; ++b)
      for (int r = 0; r < 16; ++r) lines[b][16 * t + r] = static_cast<u8>(tiles[t][r] >> (8 * b));
}

// 64 bytes to eight words: bit i of word k is bit k of byte i.
inline void bit_lines_portable(const u8* line, u64* bits) {
  for (int k = 0; k < 8; ++k) bits[k] = 0;
  for (int part = 0; part < 8; ++part) {
    u64 x, swap;
    __builtin_memcpy(&x, line + 8 * part, 8);
    swap = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAull;
    x ^= swap ^ (swap << 7);
    swap = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCull;
    x ^= swap ^ (swap << 14);
    swap = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ull;
    x ^= swap ^ (swap << 28);
    for (int k = 0; k < 8; ++k) bits[k] |= ((x >> (8 * k)) & 255) << (8 * part);
  }
}

inline void transpose_words_portable(const u32* words, u32 (*by_row)[16]) {
  for (int r = 0; r < 16; ++r)
    for (int w = 0; w < 16; ++w) by_row[r][w] = words[16 * w + r];
}
