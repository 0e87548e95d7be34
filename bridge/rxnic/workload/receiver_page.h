// SPDX-License-Identifier: Apache-2.0
// The tables [receiver] and [receiver.tags] of a workload's page.
#pragma once

#include <cstdint>
#include <string>

#include "traces/host_options.h"

namespace rxnic {

enum class PageReceive : std::uint8_t { kRq, kSrq, kTagMatchingSrq };

struct ReceiverPage {
  PageReceive receive = PageReceive::kRq;
  std::uint64_t depth = 256;
};

// What the host plan of the workload is made with.
HostOptions host_options(const ReceiverPage& page);

}  // namespace rxnic
