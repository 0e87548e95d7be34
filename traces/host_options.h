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
//   page      of memory regions and buffers: 4K (default), 2M or 1G
//   wqe_order the order in which the host hands out the slots of a linked-list SRQ. completion (default): that in which
//             their receives completed; sequential: that of the slots; shuffled: none, by `--seed`. A cyclic SRQ and an
//             RQ have the order of their ring
//   cq_compression  on: the program asks for compressed completions, and the NIC compresses; off: it does not ask;
//             default: it asks, and parameter cqe_generator.compression decides
//   tags      kept posted to the tag-matching SRQ, 1..1048576 and at most parameter tag_match_cam.max_tags: those of
//             the capture's tagged messages, in their order; default none. Needs receive=tm_srq
//   mask      of each of them, hexadecimal, up to 16 digits: the bits that are compared; default all. Needs tags
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
enum class WqeOrder : std::uint8_t { kCompletion, kSequential, kShuffled };
enum class CqCompression : std::uint8_t { kByParameter, kOff, kOn };

struct HostOptions {
  ReceiveKind receive = ReceiveKind::kRq;
  WqLayout srq_layout = WqLayout::kLinkedList;
  bool layout_chosen = false;  // otherwise the layout is for the caller to set
  std::uint32_t depth = 0;     // 0: the default of its kind
  std::uint32_t buffer = 0;    // 0: the largest message seen
  std::uint32_t sges = 1;
  std::uint32_t refill_batch = 1;
  std::uint32_t cq_slots = 65536;
  unsigned page_shift = 12;  // pages have 1 << page_shift bytes
  WqeOrder wqe_order = WqeOrder::kCompletion;
  CqCompression cq_compression = CqCompression::kByParameter;
  std::uint32_t tags = 0;
  std::uint64_t tag_mask = ~std::uint64_t{0};
  // Not set by `--host`:
  bool resynchronise = true;                   // by `--psn`: take PSN gaps as they are
  std::uint64_t seed = 1;                      // by `--seed`
  bool compress_by_default = false;            // parameter cqe_generator.compression
  std::uint32_t responder_resources = 131072;  // parameter transport_checker.responder_resources
};

HostOptions parse_host_options(std::string_view text);

}  // namespace rxnic
