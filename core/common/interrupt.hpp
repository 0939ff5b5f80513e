// Lets a long call be stopped: the core polls, the bindings decide (Ctrl-C through Python's signal check).
#pragma once

#include <atomic>
#include <chrono>

namespace nanogram {

// Shared by the threads of one call. Only the thread that made the call asks `poll`, at most every 50 ms;
// the others read the flag. A kernel that sees stopped() returns early and its output is discarded.
class Interrupt {
 public:
  using Poll = bool (*)();
  explicit Interrupt(Poll poll = nullptr) : poll_(poll), next_(Clock::now() + period) {}

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // Call from the calling thread (OpenMP thread 0) only.
  bool check() {
    if (poll_ != nullptr && !stopped() && Clock::now() >= next_) {
      if (poll_()) stopped_.store(true, std::memory_order_relaxed);
      next_ = Clock::now() + period;
    }
    return stopped();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds period{50};
  Poll poll_;
  Clock::time_point next_;
  std::atomic<bool> stopped_{false};
};

}  // namespace nanogram
