// OpenMP where the compiler has it, one thread where not. Thread counts are OpenMP's own, so that
// threadpoolctl and OMP_NUM_THREADS govern them.
#pragma once

#include <cstdint>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace nanogram {

#ifdef _OPENMP
inline int max_threads() { return omp_get_max_threads(); }
inline int thread_index() { return omp_get_thread_num(); }
inline int team_size() { return omp_get_num_threads(); }
#else
inline int max_threads() { return 1; }
inline int thread_index() { return 0; }
inline int team_size() { return 1; }
#endif

// Until another thread has done what ready() tells of; lets others run when that takes longer.
template <class Ready>
void wait_until(Ready&& ready) {
  for (int tries = 0; !ready(); ++tries)
    if (tries > 2000) std::this_thread::yield();
}

}  // namespace nanogram
