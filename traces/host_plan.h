// SPDX-License-Identifier: Apache-2.0
// The host side of a bare capture: QPs, work queues, CQs and memory that fit what a survey found. Plain data: the host
// model writes it into memory and hands it to the device.
//
//   R1  Every QP of the survey exists in state RTS with all rights, in one protection domain, as a full member of its
//       partition. The QP contexts' queue and CQ numbers are indices into `queues` and `cqs`. QPs that the survey calls
//       strict do not resynchronise.
//   R2  Queues: an RQ for each QP, an SRQ for so many QPs in the order of the survey, or one SRQ for all. XRC target
//       QPs have none, each XRC SRQ of the packets is a queue of its own. QP1 has an RQ in any case, with buffers for
//       one MAD and the 40 bytes of a GRH.
//   R3  Buffers hold the largest message seen on the queue (UD: and 40 bytes) unless the options say otherwise; each
//       queue's buffers lie in one region.
//   R4  Regions: one for each rkey, from the lowest to the highest address used, with the rights used. Pages have the
//       size that the options say. They are larger, and a note names them, where the page list would pass 2^20 entries
//       (512 once all lists together pass 2^22).
//   R5  All data pages lie within 64 MiB of physical memory. When these are used up, pages are used again from the
//       start. The order of use: regions that hold atomics (their pages are not used again), other regions, receive
//       buffers, tags' buffers, answer buffers. Pages above 2 MiB are all one and the same, but for those of up to 1
//       GiB that hold atomics.
//   R6  Two keys with the same index (key >> 8) cannot exist at once. The later key has install_before set to the
//       packet that uses it first, and replaces the earlier.
//   R7  Answers to our own requests (READ responses, atomic results) go to an answer buffer of the QP.
//   R8  A key that a SEND WITH INVALIDATE names is that of a fast-registered region. A request that uses it later is
//       for another region with that key, as R6.
//   R9  Tags: a list for the TM SRQ, when the options ask for it, with a buffer as large as the SRQ's for each entry.
//   R10 A QP reserves responder resources when READs or atomics come to it, as many as the survey says. It reserves
//       fewer, but one at least, when all together would be more than the NIC has.
//   R11 CQs: one for all QPs, or one for so many QPs in the order of the survey. A QP's SRQ, when it is of its own, and
//       its CQ are shared with the QPs before or after it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/types/completion.h"
#include "model/types/context.h"
#include "model/types/work_queue.h"
#include "traces/host_options.h"
#include "traces/survey.h"

namespace rxnic {

struct RegionPlan {
  MptEntry mpt;                      // mtt_base says where the page list goes
  std::vector<BusAddress> pages;     // one for each page, from the one that holds mpt.va on
  bool aliased = false;              // shares physical pages with other data
  std::uint64_t install_before = 0;  // number of the frame before which it must exist; 0: from the start
};

struct QueuePlan {
  WqContext context;
  std::uint32_t depth = 0;         // WQEs kept posted; slots is a power of two above
  std::uint32_t buffer_bytes = 0;  // behind each WQE
  std::uint32_t sges = 1;
  std::vector<std::uint32_t> sge_bytes;  // their lengths; empty: of equal parts, the last takes the rest
  Key lkey{};
  std::uint64_t buffers_va = 0;  // buffer of slot i: buffers_va + i * buffer_bytes
  // The captured receiver answered RNR after having used up that many WQEs: post no more than that before the device
  // has sent an RNR NAK. Then the next entry counts. RQs only.
  std::vector<std::uint64_t> hold_after;
};

// A receive of a program, posted at a time of its own.
struct TagPost {
  std::uint64_t time_ps = 0;  // of the model
  std::uint64_t tag = 0, mask = 0;
};

// Tags that the program keeps posted to a TM SRQ.
struct TagPlan {
  std::uint32_t queue = 0;  // index into queues
  std::uint32_t entries = 0;
  std::uint64_t mask = ~std::uint64_t{0};
  std::vector<std::uint64_t> tags;  // of the messages to come, in their order
  std::uint64_t counting_tags = 0;  // instead of `tags`: message n has MPI's tag n modulo this
  TagPolicy policy;
  // Instead of `tags`: receives at their times, in their order. `entries` is then how many may be posted at a time.
  std::vector<TagPost> posts;
  std::uint32_t buffer_bytes = 0;  // of each entry
  Key lkey{};
  std::uint64_t buffers_va = 0;
};

struct QpPlan {
  QpContext context;
  std::uint32_t queue = 0;                // index into queues; kNoQueue: XRC
  std::vector<SurveyedRestart> restarts;  // new connections of its number
  Key answer_lkey{};                      // R7; bytes 0: none
  std::uint64_t answer_va = 0;
  std::uint32_t answer_bytes = 0;
};
inline constexpr std::uint32_t kNoQueue = 0xffffffff;

// A 64-bit value that must be in memory at the start.
struct SeedPlan {
  BusAddress address{};
  std::uint64_t value = 0;
};

struct HostPlan {
  static constexpr Pdn kPd{1};
  static constexpr Xrcdn kXrcd{1};
  std::vector<QpPlan> qps;
  std::vector<QueuePlan> queues;
  std::vector<TagPlan> tag_lists;
  std::vector<CqContext> cqs;
  std::vector<RegionPlan> regions;
  std::vector<SeedPlan> seeds;
  std::uint32_t refill_batch = 1;
  ApplicationPlan application;
  WqeOrder wqe_order = WqeOrder::kCompletion;
  std::uint64_t seed = 1;                 // of kShuffled, of service times and of tags
  bool atomics_comparable = true;         // every atomic's first value is seeded, on pages that nothing else uses
  std::uint32_t responder_resources = 0;  // that its QPs reserve (R10)
  std::vector<std::string> notes;         // what was assumed, in words
};

HostPlan make_host_plan(const ReceiverSurvey& survey, const HostOptions& options);

// The length of SGE n of `sges` that a buffer is divided among.
inline std::uint32_t sge_length(std::span<const std::uint32_t> lengths, std::uint32_t buffer_bytes, std::uint32_t sges,
                                std::uint32_t n) {
  if (!lengths.empty()) return lengths[n];
  const std::uint32_t each = buffer_bytes / sges;
  return n + 1 == sges ? buffer_bytes - each * n : each;
}

// The data segments of the WQE in that slot, ended as work_queue.h R4 asks when there is room. Returns how many.
std::uint32_t fill_data_segments(const QueuePlan& queue, std::uint32_t slot, std::span<DataSegment> out);

}  // namespace rxnic
