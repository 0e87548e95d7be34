// SPDX-License-Identifier: Apache-2.0
// One kind of senders: which messages they send, and when. Times are those of the senders' clocks, which are one.
//
//   R1  closed: each QP has `window` messages under way; an answer lets it post the next one `think` later.
//   R2  poisson, constant, on_off: messages come to the group at times; the chosen QP posts them as its window allows,
//       later ones wait. on_off has constant distances within a burst, and the first message when it begins.
//   R3  incast: each QP posts one message; the next round begins `think` after the last answer.
//   R4  ring: the first peer is the left neighbour in a ring of peers + 1 hosts, of which the NIC is one. On each of
//       its QPs it sends one chunk after the other, each `think` after the answer to the one before. A chunk is
//       1/(peers + 1) of the size. These are the steps of a ring all-reduce (P. Patarasuk, X. Yuan, Bandwidth optimal
//       all-reduce algorithms for clusters of workstations, J. Parallel Distrib. Comput. 69, 2009).
//   R5  all_to_all: in step k peer k sends its chunk, 1/(peers + 1) of the size, on each of its QPs. The next step
//       begins `think` after the last answer of the step. This is a pairwise exchange (R. Thakur et al., Optimization
//       of collective communication operations in MPICH, Int. J. High Perform. Comput. Appl. 19, 2005).
//   R6  mpi: the other ranks of an MPI job send its messages at their times (traces/mpi_job.h).
//   R7  The tags of eager and rendezvous messages count up over all groups, in the order in which the senders post
//       them, modulo `tags`. The number is MPI's tag (mpi_tag.h), of source and context 0.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bridge/rxnic/workload/layout.h"
#include "bridge/rxnic/workload/region_targets.h"
#include "bridge/rxnic/workload/samplers.h"
#include "bridge/rxnic/workload/sender_qp.h"
#include "traces/mpi_job.h"

namespace rxnic {

class SenderGroup {
 public:
  // `number` of the group; `link_gbps` of the NIC. The page, the layout and the job of [mpi] must outlive it, and
  // `tagged`, the number of tagged messages of all groups so far.
  SenderGroup(const WorkloadPage& page, const WorkloadLayout& layout, std::size_t number, std::uint64_t link_gbps,
              const MpiJob* job, std::uint64_t& tagged);

  // The QPs, counted over all groups, that post a message when the group begins; one stands there several times when
  // it posts several.
  void begin(std::vector<std::uint32_t>& post);
  // R2: the time of the next arrival after the last one; nothing: they are not of this kind.
  std::optional<std::uint64_t> next_arrival();
  // The QP of the arrival. Nothing: its window is full, it will post the message later.
  std::optional<std::uint32_t> arrive(const std::vector<SenderQp>& qps);
  // An answer to a message of the QP: who posts a message `think` later.
  void answered(std::uint32_t qp, std::vector<std::uint32_t>& post);
  // Whether a message waits for the QP's window (R2); takes it.
  bool take_waiting(std::uint32_t qp);
  // A QP that has failed takes no further part.
  void failed(std::uint32_t qp, std::vector<std::uint32_t>& post);

  SenderMessage message();
  const SendersPage& page() const { return page_; }
  std::uint64_t messages() const { return messages_; }

 private:
  void step_of_all(std::vector<std::uint32_t>& post);
  const MixKind& draw_kind();
  SenderMessage mpi_message();

  const SendersPage& page_;
  const WorkloadLayout& layout_;
  std::uint32_t first_, count_;  // QPs
  SizeSampler sizes_;
  RegionTargets targets_;
  std::optional<ZipfSampler> zipf_;
  RandomNumbers size_random_, kind_random_, time_random_, choice_random_, target_random_;
  std::uint64_t weights_ = 0;
  double interval_ps_ = 0;
  double time_ps_ = 0;  // of the last arrival
  bool arrived_ = false;
  std::uint32_t chosen_ = 0, in_order_ = 0;
  std::uint64_t burst_left_ = 0;
  std::vector<std::uint64_t> waiting_;  // by QP of the group (R2)
  std::vector<std::uint8_t> gone_;      // by QP of the group: failed
  std::uint64_t expected_ = 0;          // answers until the round or step is over
  std::uint64_t step_ = 0;              // R5
  const MpiJob* job_;
  std::size_t next_call_ = 0;  // of the job: the message that arrives next
  std::uint64_t& tagged_;
  std::uint32_t next_invalidated_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace rxnic
