// SPDX-License-Identifier: Apache-2.0
// The table [mpi] of a workload's page: a rank of an MPI trace in the place of [[senders]].
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "traces/mpi_trace.h"

namespace rxnic {

struct WorkloadPage;

struct MpiPage {
  std::string trace;  // empty: no rank
  std::uint64_t rank = 0;
  std::uint64_t order_gap = 10'000'000;
  std::uint64_t speedup = 1;
  std::uint64_t mtu = 4096;
  std::shared_ptr<const MpiTrace> calls;  // of `trace`

  bool any() const { return !trace.empty(); }
};

// Reads the trace, and puts its other ranks in the place of senders. Throws TraceError.
void add_mpi_senders(WorkloadPage& page, const std::string& folder);

}  // namespace rxnic
