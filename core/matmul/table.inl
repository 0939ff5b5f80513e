// The table of block kernels from forward_entry, backward_entry and most_digits of the including file.

#define NANOGRAM_ROW(entry, mode) \
  {entry<mode, 2>(), entry<mode, 3>(), entry<mode, 4>(), entry<mode, 6>(), entry<mode, 8>(), entry<mode, 10>()}
#define NANOGRAM_ROWS(entry)                                                                        \
  {NANOGRAM_ROW(entry, Mode::u1),    NANOGRAM_ROW(entry, Mode::u2),  NANOGRAM_ROW(entry, Mode::u4), \
   NANOGRAM_ROW(entry, Mode::u8),    NANOGRAM_ROW(entry, Mode::u16), NANOGRAM_ROW(entry, Mode::t5), \
   NANOGRAM_ROW(entry, Mode::table4)}
#define NANOGRAM_MATMUL_KERNELS                                                                                      \
  {{most_digits(1), most_digits(1), most_digits(1), most_digits(1), most_digits(2), most_digits(1), most_digits(3)}, \
   NANOGRAM_ROWS(forward_entry),                                                                                     \
   NANOGRAM_ROWS(backward_entry)}
