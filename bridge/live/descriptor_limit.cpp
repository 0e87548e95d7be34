// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/descriptor_limit.h"

namespace rxnic {

DescriptorLimit::DescriptorLimit() {
  if (getrlimit(RLIMIT_NOFILE, &before_) != 0 || before_.rlim_cur == before_.rlim_max) return;
  const rlimit most{before_.rlim_max, before_.rlim_max};
  raised_ = setrlimit(RLIMIT_NOFILE, &most) == 0;
}

void DescriptorLimit::restore() const {
  if (raised_) setrlimit(RLIMIT_NOFILE, &before_);
}

}  // namespace rxnic
