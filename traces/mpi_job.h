// SPDX-License-Identifier: Apache-2.0
// One rank of an MPI job as work for a NIC with tag matching: messages to it, and receives of its program.
//
//   R1  A message is a send of another rank to this one. It reaches the NIC `delay` after the send was called. Its tag
//       is the sender's triple (mpi_tag.h).
//   R2  A receive is posted when it is called, with its mask. A receive at the time of a message's arrival is posted
//       before it.
//   R3  Times begin with the earliest call of the whole job. They are divided by `speedup`, rounded down to
//       nanoseconds.
//   R4  Order: arrivals and posts stay in the order of their times, and at least `gap` apart. A message counts until
//       its last byte has come at `link_gbps`. What comes too early for that comes later, and so does what follows. So
//       the order of the trace is that of the NIC: neither a post nor an arrival overtakes what the other has just
//       done. A gap of 0 keeps the trace's times, and leaves the order of what is close to the NIC.
//   R5  Sends of the rank to itself never reach its NIC, nor do receives that name itself as their source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/host_plan.h"
#include "traces/mpi_trace.h"

namespace rxnic {

struct MpiMessage {
  std::uint64_t time_ps = 0;  // the send, on the model's clock
  std::uint32_t sender = 0;   // rank of the job
  std::uint32_t bytes = 0;    // without the TMH
  std::uint64_t tag = 0;
};

struct MpiJobOptions {
  std::uint32_t rank = 0;
  std::uint64_t start_ps = 0;  // of the first call
  std::uint64_t delay_ps = 0;
  std::uint64_t gap_ps = 0;
  std::uint64_t speedup = 1;
  double link_gbps = 100;
};

struct MpiJob {
  std::uint32_t ranks = 0;
  std::uint32_t rank = 0;
  std::vector<MpiMessage> messages;  // in the order of their arrival
  std::vector<TagPost> posts;        // in their order
  std::uint64_t moved = 0;           // of both: later than the trace says (R4)
  std::uint32_t largest = 0;         // bytes of a message or of a receive
  std::vector<std::string> notes;    // what was left out, in words
};

// Throws TraceError: the trace does not have the rank, a message has 2^30 bytes or more, the job takes over 2^53 ns.
MpiJob make_mpi_job(const MpiTrace& trace, const std::string& path, const MpiJobOptions& options);

}  // namespace rxnic
