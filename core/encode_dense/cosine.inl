// cos_u16 of ops/encode_reference.py in 32-bit lanes: 65535 (1 + cos(2 pi phase / 65536)) / 2 of phases below 65536.
// Every product is of two 16-bit numbers, so that 32 bits hold it.

typedef std::int32_t Lanes32 __attribute__((vector_size(4 * vector_lanes)));
typedef std::uint32_t Phases32 __attribute__((vector_size(4 * vector_lanes)));

inline Lanes32 high_product(Lanes32 a, Lanes32 b) { return (a * b + 16384) >> 15; }

inline Phases32 cos_u16(Phases32 phase) {
  const Lanes32 away = reinterpret_cast<Lanes32>(phase ^ 32768u) - 32768;  // signed 16 bits
  const Lanes32 magnitude = away < 0 ? -away : away;
  // z falls from 1 to -1 as the magnitude grows: the cosine is sin(pi z / 2).
  Lanes32 z = 2 * (16384 - magnitude);
  z = z > 32767 ? Lanes32{} + 32767 : z;
  z = z < -32767 ? Lanes32{} - 32767 : z;
  const Lanes32 w = high_product(z, z);
  Lanes32 p = high_product(w, Lanes32{} - 145) + 2598;
  p = high_product(w, p) - 21153;
  p = high_product(w, p) + 18699;
  Lanes32 s = z + high_product(z, p);
  s = s > 32767 ? Lanes32{} + 32767 : s;
  s = s < -32768 ? Lanes32{} - 32768 : s;
  return reinterpret_cast<Phases32>(s + 32768);
}
