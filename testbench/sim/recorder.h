// SPDX-License-Identifier: Apache-2.0
// Records a run of programs: host.jsonl (traces/host_log.h) and wire.pcap, every frame on the wire once, in model time.
#pragma once

#include <string>

#include "bridge/device/host_bridge.h"
#include "model/nic/fabric.h"
#include "traces/capture_writer.h"
#include "traces/host_log.h"

namespace rxnic {

inline constexpr const char* kHostLogFile = "host.jsonl";
inline constexpr const char* kWireFile = "wire.pcap";

class Recorder final : public HostObserver, public FabricObserver {
 public:
  // Both files are made in `folder`. Throws TraceError, as all of this does.
  Recorder(const std::string& folder, const HostLogHeader& header);

  void on_event(Cycle now, const HostEvent& event) override;
  void on_read(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) override;
  void on_write(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) override;
  void on_frame(std::uint32_t from, std::uint32_t to, Bytes frame, std::uint64_t time_ps) override;
  // The run ended in `last`.
  void close(Cycle last, std::uint64_t cqes);

 private:
  HostLogWriter log_;
  CaptureWriter wire_;
};

}  // namespace rxnic
