// SPDX-License-Identifier: Apache-2.0
// Any bytes as the log of a recorded run: entries up to the end, or a TraceError.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "traces/host_log.h"

namespace {

void read_all(rxnic::HostLogReader& reader, rxnic::HostLogKinds kinds) {
  std::uint64_t cycle = 0;
  for (rxnic::HostLogEntry entry;;) {
    reader.next(entry, kinds);
    if (entry.cycle < cycle) std::abort();  // (R2)
    cycle = entry.cycle;
    if (entry.kind == rxnic::HostLogEntry::Kind::kEnd) return;
    if (entry.ok && entry.kind == rxnic::HostLogEntry::Kind::kRead && entry.bytes != entry.data.size()) std::abort();
    if ((rxnic::host_log_kind(entry.kind) & kinds) == 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;  // fmemopen refuses it
  for (const auto kinds : {rxnic::kHostLogEvents, rxnic::kHostLogMemory, ~0u}) {
    try {
      rxnic::HostLogReader reader(::fmemopen(const_cast<std::uint8_t*>(data), size, "rb"), "input");
      read_all(reader, kinds);
    } catch (const rxnic::TraceError&) {
      // named: all is well
    }
  }
  return 0;
}
