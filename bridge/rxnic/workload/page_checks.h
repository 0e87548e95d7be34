// SPDX-License-Identifier: Apache-2.0
// What the keys of a page must have to do with each other.
#pragma once

#include <optional>
#include <string>

#include "bridge/rxnic/workload/page_keys.h"

namespace rxnic {

struct PageFault {
  std::string table, key;  // where it shows
  std::size_t group = 0;   // of the senders' tables
  std::string found, expected;
};

// The first fault of a page whose keys are all right by themselves; nothing: there is none.
std::optional<PageFault> page_fault(const WorkloadPage& page);

// What the tables [receiver] and [receiver.tags] lack.
std::optional<PageFault> receiver_fault(const WorkloadPage& page);

// The largest message that a kind of senders can send, in bytes.
std::uint64_t largest_message(const SendersPage& senders);

}  // namespace rxnic
