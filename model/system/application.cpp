// SPDX-License-Identifier: Apache-2.0
#include "model/system/application.h"

#include <algorithm>
#include <cmath>

namespace rxnic {

Application::Application(const ApplicationPlan& plan, std::uint64_t period_ps, std::uint64_t seed)
    : mean_cycles_(static_cast<double>(plan.service_ps) / static_cast<double>(period_ps)),
      distribution_(plan.distribution),
      random_(seed) {
  for (std::uint32_t n = 0; n < plan.workers; ++n) free_.push(0);
}

Cycle Application::serve(Cycle now) {  // (R1)
  const std::uint64_t done = std::max(free_.top(), now.count) + draw();
  free_.pop();
  free_.push(done);
  return Cycle{done};
}

std::uint64_t Application::draw() {  // (R2)
  double cycles = mean_cycles_;
  if (distribution_ == ServiceTime::kExponential) cycles *= -std::log(1.0 - random_.unit());
  return static_cast<std::uint64_t>(std::llround(cycles));
}

}  // namespace rxnic
