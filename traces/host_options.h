// SPDX-License-Identifier: Apache-2.0
// What `--host` chooses about the synthesised host of a bare capture: a list of key=value, separated by commas, as in
//   receive=srq,depth=1024,buffer=4096,sges=1,layout=linked_list,refill=batch:16
//
//   receive   rq: a receive queue for each QP (default); srq: one shared receive queue for all; tm_srq: likewise, with
//             tag matching
//   depth     receive WQEs kept posted, 1..32767; default 256 for an RQ (fewer when there are more than 256 QPs), 1024
//             for an SRQ
//   buffer    bytes of buffer behind each WQE, 1..2^30; default: the largest message that was seen
//   sges      SGEs of each WQE, 1..32; the buffer is divided among them; default 1
//   layout    of an SRQ: linked_list or cyclic (default: parameter srq_wqe_fetcher.srq_layout)
//   refill    on_completion: a WQE is posted again when its completion was seen (default); batch:N: N together
//   cqes      slots of each CQ, a power of two, 16..4194304; default 65536
//
//   R1  A key may stand there once. Every fault is an OptionError that names the key, what was found and what was
//       expected.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/types/work_queue.h"

namespace rxnic {

class OptionError : public std::invalid_argument {
 public:
  OptionError(const std::string& key, const std::string& found, const std::string& expected)
      : std::invalid_argument("--host: " + key + ": found '" + found + "'; expected " + expected) {}
};

enum class ReceiveKind : std::uint8_t { kRq, kSrq, kTagMatchingSrq };

struct HostOptions {
  ReceiveKind receive = ReceiveKind::kRq;
  WqLayout srq_layout = WqLayout::kLinkedList;
  std::uint32_t depth = 0;   // 0: the default of its kind
  std::uint32_t buffer = 0;  // 0: the largest message seen
  std::uint32_t sges = 1;
  std::uint32_t refill_batch = 1;
  std::uint32_t cq_slots = 65536;
  bool resynchronise = true;  // set by `--psn`, not by `--host`: take PSN gaps as they are
};

HostOptions parse_host_options(std::string_view text);

}  // namespace rxnic
