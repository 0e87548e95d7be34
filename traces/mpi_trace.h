// SPDX-License-Identifier: Apache-2.0
// Point-to-point calls of an MPI job, from a trace in text: of liballprof (collprof), of dumpi2ascii, or of otf2-print.
//
//   R1  liballprof and dumpi: a folder with a file for each rank, whose name ends in the rank's number (before an
//       extension). The ranks are 0 to n - 1. OTF2: one file with all locations, the ranks in the order of their
//       locations' numbers.
//   R2  Every send and every receive counts from its call: a receive is posted when MPI_Recv or MPI_Irecv is entered.
//       MPI_Sendrecv posts its receive, then sends. Calls with MPI_PROC_NULL do nothing.
//   R3  Times are whole nanoseconds of one clock. liballprof measures how far each rank's clock is from rank 0's, in
//       MPI_Init and in MPI_Finalize ("clockdiff"). What a line between the two says is added. The clocks of dumpi and
//       OTF2 are taken as one.
//   R4  A peer is a rank of its communicator. Its rank of the job follows from what each rank says of its own rank in
//       the communicator. All lines of liballprof do, and MPI_Comm_rank of dumpi; OTF2 names the peer's location. Calls
//       on communicators whose members cannot be told apart are left out, and counted.
//   R5  In liballprof's numbers, source and tag of -1 are MPI_ANY_SOURCE and MPI_ANY_TAG, a peer of -2 is
//       MPI_PROC_NULL (as of Open MPI). OTF2 records what a receive has matched, not wildcards.
//   R6  Everything else (collectives, probes, persistent requests) is left out, and counted by name.
//   R7  A line against its format, a file without a rank, and a line longer than kMpiLineBytes are TraceErrors. They
//       name the file and the line.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "traces/trace_error.h"

namespace rxnic {

inline constexpr std::size_t kMpiLineBytes = std::size_t{1} << 20;

struct MpiCall {
  static constexpr std::uint32_t kAny = 0xffffffff;

  bool receives = false;
  std::uint32_t peer = 0;        // rank in the communicator; kAny: MPI_ANY_SOURCE
  std::uint32_t tag = 0;         // kAny: MPI_ANY_TAG
  std::uint32_t context = 0;     // communicators of the job, counted from 0 in the order of their numbers in the trace
  std::uint32_t world_peer = 0;  // rank in the job; kAny: as `peer`
  std::uint32_t own_rank = 0;    // in the communicator
  std::int64_t time_ns = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MpiCall&) const = default;
};

struct MpiTrace {
  std::string format;                             // liballprof, dumpi, otf2
  std::vector<std::vector<MpiCall>> ranks;        // in the order of the calls
  std::map<std::string, std::uint64_t> left_out;  // calls, by name or reason (R4, R6)
};

// A file of a trace.
struct MpiText {
  std::string name;
  std::function<std::unique_ptr<std::istream>()> open;
};

// Throws TraceError.
MpiTrace read_mpi_trace(const std::string& path);
// The files of the ranks, from 0 on, or that of OTF2. `name` of the whole.
MpiTrace read_mpi_texts(const std::string& name, const std::vector<MpiText>& files);

}  // namespace rxnic
