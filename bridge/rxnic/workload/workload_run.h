// SPDX-License-Identifier: Apache-2.0
// The run of a workload: its senders and its network before one NIC with its host.
//
//   R1  A workload as files is a folder with three of them. `workload.toml` is the page with every key resolved, the
//       seed too. `parameters.toml` holds the parameters of the run, and `wire.pcap` all that came to the NIC.
//   R2  Its run takes the packets from wire.pcap and the host from the page. It has the cycles and the state hash of
//       the run that wrote it, as long as its parameters are the same.
#pragma once

#include <optional>
#include <string>

#include "bridge/rxnic/capture/replay.h"
#include "bridge/rxnic/workload/workload_page.h"

namespace rxnic {

// Whether it is a folder of R1.
bool is_written_workload(const std::string& path);

struct WorkloadOptions {
  ReplayOptions run;        // what is of captures alone in it has no effect; `trace`: the page, or the folder of R1
  bool seeded = false;      // run.seed takes the place of the page's
  bool configured = false;  // run.config was chosen: otherwise a folder's own parameters count
  std::string write_to;     // folder in which R1's files are written; empty: none
};

// Throws as replay(), and ConfigError for a page.
RunResult run_workload(const WorkloadOptions& options);

}  // namespace rxnic
