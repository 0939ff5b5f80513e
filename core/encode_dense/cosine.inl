// cos_u16 of ops/encode_reference.py in 32-bit lanes: 65535 (1 + cos(2 pi phase / 65536)) / 2 of phases below 65536.
// Every product is of two 16-bit numbers, so that 32 bits hold it.

inline Int high_product(Int a, Int b) { return (a * b + 16384) >> 15; }

inline Word cos_u16(Word phase) {
  const Int away = reinterpret_cast<Int>(phase ^ 32768u) - 32768;  // signed 16 bits
  const Int magnitude = away < 0 ? -away : away;
  // z falls from 1 to -1 as the magnitude grows: the cosine is sin(pi z / 2).
  Int z = 2 * (16384 - magnitude);
  z = z > 32767 ? Int{} + 32767 : z;
  z = z < -32767 ? Int{} - 32767 : z;
  const Int w = high_product(z, z);
  Int p = high_product(w, Int{} - 145) + 2598;
  p = high_product(w, p) - 21153;
  p = high_product(w, p) + 18699;
  Int s = z + high_product(z, p);
  s = s > 32767 ? Int{} + 32767 : s;
  s = s < -32768 ? Int{} - 32768 : s;
  return reinterpret_cast<Word>(s + 32768);
}
