// SPDX-License-Identifier: Apache-2.0
// What `--host` chooses about the synthesised host of a bare capture: a list of key=value, separated by commas, as in
//   receive=srq,depth=1024,buffer=4096,sges=1,layout=linked_list,refill=batch:16
//
//   receive   rq: a receive queue for each QP (default); srq: one shared receive queue for all; tm_srq: likewise, with
//             tag matching
//   qps_per_srq  QPs that share an SRQ, 1..65536; default all of them share one. Needs receive=srq or tm_srq
//   qps_per_cq   QPs that share a CQ, 1..65536; default all of them share one
//   depth     receive WQEs kept posted, 1..32767; default 256 for an RQ (fewer when there are more than 256 QPs), 1024
//             for an SRQ
//   buffer    bytes of buffer behind each WQE, 1..2^30; default: the largest message that was seen
//   sges      SGEs of each WQE, 1..32; the buffer is divided among them; default 1
//   sge_bytes the length of each SGE, joined by '+', as in 64+4032; instead of sges and buffer
//   layout    of an SRQ: linked_list or cyclic (default: parameter srq_wqe_fetcher.srq_layout)
//   refill    on_completion: a WQE is posted again when its completion was seen (default); batch:N: N together
//   cqes      slots of each CQ, a power of two, 16..4194304; default 65536, fewer (256 at least) for more than 16 CQs
//   completions  polled: the program polls its CQs (default); events: it arms them, and sleeps until their events
//   moderation_count   completions an event, 0..65535; default 0: an event each. Needs completions=events
//   moderation_period  longest delay of an event in us, 0..65535; default 0: none. Needs completions=events
//   service   time in ns that the program spends on each message before it posts the buffer again, 0..10^9; default 0
//   service_time  fixed (default), or exponential with that mean, by `--seed`. Needs service
//   workers   of the program, which serve one message each at a time, 1..65536; default 1. Needs service
//   page      of memory regions and buffers: 4K (default), 2M or 1G
//   wqe_order the order in which the host hands out the slots of a linked-list SRQ. completion (default): that in which
//             their receives completed; sequential: that of the slots; shuffled: none, by `--seed`. A cyclic SRQ and an
//             RQ have the order of their ring
//   cq_compression  on: the program asks for compressed completions, and the NIC compresses; off: it does not ask;
//             default: it asks, and parameter cqe_generator.compression decides
//   tags      kept posted to the tag-matching SRQ, 1..1048576 and at most parameter tag_match_cam.max_tags: those of
//             the capture's tagged messages, in their order; default none. Needs receive=tm_srq
//   mask      of each of them, hexadecimal, up to 16 digits: the bits that are compared; default all. Needs tags
//   tag_order in_order (default): tags are posted in the order of arrival; reversed, shuffled: so within each
//             tag_window messages, 1..1048576
//   unexpected_ppm  of the messages come before their receive is posted, 0..10^6; default 0. The receive is posted when
//             unexpected_lag more messages have come, 0..1048576
//   any_source_ppm, any_tag_ppm  of the tags are posted without the bits of the source, of MPI's tag (mpi_tag.h)
//   delete_ppm  of the tags are deleted once they are posted, and posted again then
//   sync_lag  unexpected messages that the program leaves unreported at most, 0..32767; default 0
//   failing_ppm  of the appends are followed by an operation that fails: a deletion of a handle that is not posted, or
//             an append beyond the list's end
//             All of these need tags, and default to none.
//
//   R1  A key may stand there once. Every fault is an OptionError that names the key, what was found and what was
//       expected.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/types/work_queue.h"
#include "traces/receiver_policy.h"

namespace rxnic {

struct OptionError : std::invalid_argument {
  OptionError(const std::string& of_key, const std::string& what_found, const std::string& what_expected)
      : std::invalid_argument("--host: " + of_key + ": found '" + what_found + "'; expected " + what_expected),
        key(of_key),
        found(what_found),
        expected(what_expected) {}
  std::string key, found, expected;
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
  std::vector<std::uint32_t> sge_bytes;  // empty: the buffer is divided evenly
  std::uint32_t refill_batch = 1;
  std::uint32_t qps_per_srq = 0, qps_per_cq = 0;  // 0: all
  std::uint32_t cq_slots = 0;                     // 0: the default
  CompletionPlan completions;
  ApplicationPlan application;
  unsigned page_shift = 12;  // pages have 1 << page_shift bytes
  WqeOrder wqe_order = WqeOrder::kCompletion;
  CqCompression cq_compression = CqCompression::kByParameter;
  std::uint32_t tags = 0;
  std::uint64_t tag_mask = ~std::uint64_t{0};
  TagPolicy tag_policy;
  // Not set by `--host`:
  std::uint64_t counting_tags = 0;   // instead of the capture's: message n has MPI's tag n modulo this (mpi_tag.h)
  bool resynchronise = true;         // by `--psn`: take PSN gaps as they are
  std::uint64_t seed = 1;            // by `--seed`
  bool compress_by_default = false;  // parameter cqe_generator.compression
  std::uint32_t responder_resources = 131072;  // parameter transport_checker.responder_resources
};

HostOptions parse_host_options(std::string_view text);
// Sets one key.
void set_host_option(HostOptions& options, std::string_view key, std::string_view value);
// Whether the keys that were set fit each other.
void check_host_options(const HostOptions& options,
                        const std::vector<std::pair<std::string_view, std::string_view>>& set);

}  // namespace rxnic
