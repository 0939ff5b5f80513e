// Part of kernels_body.hpp: stretches of one row.

// ------------------------------------------------------------------ rows: codes side by side in bytes

// Spreads the low `8 * bits` bits of x, a code each `bits`, over the eight bytes of a word.
template <int bits>
inline u64 spread(u64 x) {
  if constexpr (bits == 1) {
    x = (x | x << 28) & 0x0000000F0000000Full;
    x = (x | x << 14) & 0x0003000300030003ull;
    return (x | x << 7) & 0x0101010101010101ull;
  } else if constexpr (bits == 2) {
    x = (x | x << 24) & 0x000000FF000000FFull;
    x = (x | x << 12) & 0x000F000F000F000Full;
    return (x | x << 6) & 0x0303030303030303ull;
  } else {
    x = (x | x << 16) & 0x0000FFFF0000FFFFull;
    x = (x | x << 8) & 0x00FF00FF00FF00FFull;
    return (x | x << 4) & 0x0F0F0F0F0F0F0F0Full;
  }
}

// The inverse: eight bytes, each below 2^bits, to 8 * bits bits.
template <int bits>
inline u64 gather(u64 x) {
  if constexpr (bits == 1) {
    x = (x | x >> 7) & 0x0003000300030003ull;
    x = (x | x >> 14) & 0x0000000F0000000Full;
    return (x | x >> 28) & 0xFFull;
  } else if constexpr (bits == 2) {
    x = (x | x >> 6) & 0x000F000F000F000Full;
    x = (x | x >> 12) & 0x000000FF000000FFull;
    return (x | x >> 24) & 0xFFFFull;
  } else {
    x = (x | x >> 4) & 0x00FF00FF00FF00FFull;
    x = (x | x >> 8) & 0x0000FFFF0000FFFFull;
    return (x | x >> 16) & 0xFFFFFFFFull;
  }
}

template <int bits>
inline void unpack_fields(const u32* words, int count, u8* codes) {
  for (int i = 0; i < count; ++i) {
    u64 bytes[4 / bits];
    for (int part = 0; part < 4 / bits; ++part)
      bytes[part] = spread<bits>(words[i] >> (8 * bits * part) & ((1ull << 8 * bits) - 1));
    __builtin_memcpy(codes + 32 / bits * i, bytes, sizeof bytes);
  }
}

template <int bits>
inline void pack_fields(const u8* codes, int count, u32* words) {
  for (int i = 0; i < count; ++i) {
    u64 bytes[4 / bits];
    __builtin_memcpy(bytes, codes + 32 / bits * i, sizeof bytes);
    u64 word = 0;
    for (int part = 0; part < 4 / bits; ++part) word |= gather<bits>(bytes[part]) << (8 * bits * part);
    words[i] = static_cast<u32>(word);
  }
}

struct Trits {
  u64 five[256];
};

constexpr Trits make_trits() {
  Trits trits{};
  for (u32 byte = 0; byte < 256; ++byte)
    for (int d = 0; d < 5; ++d) trits.five[byte] |= static_cast<u64>(byte / power3[d] % 3) << (8 * d);
  return trits;
}

constexpr Trits trits = make_trits();

void unpack(int layout, const u32* lane, int count, void* codes) {
  u32 words[stretch_words];
  for (int i = 0; i < count; ++i) words[i] = lane[lanes * i];
  u8* bytes = static_cast<u8*>(codes);
  switch (layout) {
    case layout_u1: unpack_fields<1>(words, count, bytes); break;
    case layout_u2: unpack_fields<2>(words, count, bytes); break;
    case layout_u4: unpack_fields<4>(words, count, bytes); break;
    case layout_t5:
      for (int i = 0; i < count; ++i) {
        u8 word[24];  // each store of eight bytes is right in its first five
        for (int part = 0; part < 4; ++part)
          __builtin_memcpy(word + 5 * part, &trits.five[words[i] >> (8 * part) & 255], 8);
        __builtin_memcpy(bytes + 20 * i, word, 20);
      }
      break;
    default: __builtin_memcpy(codes, words, sizeof(u32) * static_cast<unsigned>(count));  // u8 and u16: as they lie
  }
}

void pack(int layout, const void* codes, int count, u32* lane) {
  u32 words[stretch_words];
  const u8* bytes = static_cast<const u8*>(codes);
  switch (layout) {
    case layout_u1: pack_fields<1>(bytes, count, words); break;
    case layout_u2: pack_fields<2>(bytes, count, words); break;
    case layout_u4: pack_fields<4>(bytes, count, words); break;
    case layout_t5:
      for (int i = 0; i < count; ++i) {
        u32 word = 0;
        for (int part = 0; part < 4; ++part) {
          const u8* five = bytes + 20 * i + 5 * part;
          word |= (five[0] + 3u * five[1] + 9u * five[2] + 27u * five[3] + 81u * five[4]) << (8 * part);
        }
        words[i] = word;
      }
      break;
    default: __builtin_memcpy(words, codes, sizeof(u32) * static_cast<unsigned>(count));
  }
  for (int i = 0; i < count; ++i) lane[lanes * i] = words[i];
}

template <typename Code>
inline u32 largest(const Code* codes, i64 count) {
  Code most = 0;
  for (i64 i = 0; i < count; ++i) most = codes[i] > most ? codes[i] : most;
  return most;
}

u32 largest8(const u8* codes, i64 count) { return largest(codes, count); }
u32 largest16(const u16* codes, i64 count) { return largest(codes, count); }

// ------------------------------------------------------------------ rows: codes to floats

void levels_of(int layout, const void* codes, int count, const float* levels, float* out) {
  const u8* q = static_cast<const u8*>(codes);
  int j = 0;
  if (layout == layout_u16) {
    const u16* wide = static_cast<const u16*>(codes);
    for (; j < count; ++j) out[j] = levels[wide[j]];
    return;
  }
#if defined(__AVX512F__)
  // At most 16 levels: one register holds them all. The masked forms spare gcc 12 a false warning.
  if (layout != layout_u8) {
    float sixteen[16] = {};
    const int n_levels = layout == layout_u1 ? 2 : layout == layout_u2 ? 4 : layout == layout_t5 ? 3 : 16;
    for (int i = 0; i < n_levels; ++i) sixteen[i] = levels[i];
    const __m512 table = _mm512_loadu_ps(sixteen);
    for (; j + 16 <= count; j += 16) {
      const __m512i index =
          _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(q + j)));
      _mm512_storeu_ps(out + j, _mm512_maskz_permutexvar_ps(0xFFFF, index, table));
    }
  }
#elif defined(__AVX2__)
  if (layout != layout_u8) {
    float sixteen[16] = {};
    const int n_levels = layout == layout_u1 ? 2 : layout == layout_u2 ? 4 : layout == layout_t5 ? 3 : 16;
    for (int i = 0; i < n_levels; ++i) sixteen[i] = levels[i];
    const __m256 lower = _mm256_loadu_ps(sixteen), upper = _mm256_loadu_ps(sixteen + 8);
    for (; j + 8 <= count; j += 8) {
      const __m256i index = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + j)));
      const __m256 picked =
          _mm256_blendv_ps(_mm256_permutevar8x32_ps(lower, index), _mm256_permutevar8x32_ps(upper, index),
                           _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
      _mm256_storeu_ps(out + j, picked);
    }
  }
#endif
  for (; j < count; ++j) out[j] = levels[q[j]];
}

template <typename Code>
inline void linear_of(const Code* q, int count, const double* scale, double centre, const double* offset, float* out) {
  for (int j = 0; j < count; ++j)
    out[j] = static_cast<float>(scale[j] * (static_cast<double>(static_cast<int>(q[j])) - centre) + offset[j]);
}

void linear(int layout, const void* codes, int count, const double* scale, double centre, const double* offset,
            float* out) {
  if (layout == layout_u16)
    linear_of(static_cast<const u16*>(codes), count, scale, centre, offset, out);
  else
    linear_of(static_cast<const u8*>(codes), count, scale, centre, offset, out);
}
