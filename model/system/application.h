// SPDX-License-Identifier: Apache-2.0
// The time that the program on the host spends on received messages: a queue in front of `workers` servers.
//
//   R1  Messages are served in the order in which they were polled, each by the worker that is free first. Service
//       begins when both are there.
//   R2  A service takes the fixed time, or one drawn from the exponential distribution with that mean. One seed always
//       gives one sequence of draws.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "model/types/ids.h"
#include "model/types/splitmix.h"
#include "traces/receiver_policy.h"

namespace rxnic {

class Application {
 public:
  Application() = default;  // serves in no time
  Application(const ApplicationPlan& plan, std::uint64_t period_ps, std::uint64_t seed);
  bool serves() const { return mean_cycles_ > 0; }
  // When the message that is polled in cycle `now` has been served. Precondition: serves(), and `now` never decreases.
  Cycle serve(Cycle now);

 private:
  std::uint64_t draw();

  double mean_cycles_ = 0;
  ServiceTime distribution_ = ServiceTime::kFixed;
  Splitmix random_{0};
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free_;  // cycle, of each worker
};

}  // namespace rxnic
