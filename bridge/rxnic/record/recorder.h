// SPDX-License-Identifier: Apache-2.0
// Records a run of programs: host.jsonl (traces/host_log.h) and wire.pcap, every frame on the wire once, in model time.
#pragma once

#include <functional>
#include <string>

#include "bridge/driver/programs_bridge.h"
#include "model/nic/fabric.h"
#include "traces/capture_writer.h"
#include "traces/host_log.h"

namespace rxnic {

inline constexpr const char* kHostLogFile = "host.jsonl";
inline constexpr const char* kWireFile = "wire.pcap";

class Recorder final : public ProgramObserver, public FabricObserver {
 public:
  // Both files are made in `folder`. Throws TraceError.
  // on_failure: a later write error, once: the record ends there, can be replayed so far (host_log.h R6), and nothing
  // more is recorded.
  Recorder(const std::string& folder, const HostLogHeader& header,
           std::function<void(const TraceError&)> on_failure = {});

  void on_event(Cycle now, const ProgramEvent& event) override;
  void on_read(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok, bool gone) override;
  void on_write(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) override;
  void on_frame(std::uint32_t from, std::uint32_t to, Bytes frame, std::uint64_t time_ps) override;
  // The run ended in `last`.
  void close(Cycle last, std::uint64_t cqes);
  bool failed() const { return failed_; }

 private:
  template <class Write>
  void record(Write write) {
    if (failed_) return;
    try {
      write();
    } catch (const TraceError& error) {
      fail(error);
    }
  }
  void fail(const TraceError& error);

  HostLogWriter log_;
  CaptureWriter wire_;
  std::function<void(const TraceError&)> on_failure_;
  bool failed_ = false;
};

// Removes the record that an earlier run has left in `folder`, which would count as that of a later one. A host.jsonl
// that is no record stays, and a wire.pcap without one. Throws std::runtime_error that names a file that cannot be
// removed.
void remove_record(const std::string& folder);

}  // namespace rxnic
