// SPDX-License-Identifier: Apache-2.0
// What `rxnic workload` prints: the pages that come along, the keys, and a page with every key resolved.
#pragma once

#include <string>

#include "bridge/rxnic/workload/workload_page.h"

namespace rxnic {

// A line for each page that comes along: its name and what it is for.
std::string named_workloads_text();
// [{"name":, "about":}]
std::string named_workloads_json();
// Every key: default, unit, range, meaning, by table.
std::string workload_keys_text();
// {"table": {"key": {"default":, "type":, "unit":, "range":, "sentence":, "needs":}}}; what stands before the first
// table is in the table "".
std::string workload_keys_json();
// A page with every key that can act: parse_workload() of it gives the same page, with other files of sizes.
std::string workload_toml(const WorkloadPage& page);

}  // namespace rxnic
