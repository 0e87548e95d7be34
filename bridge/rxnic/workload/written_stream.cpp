// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/written_stream.h"

#include <fmt/format.h>

namespace rxnic {

namespace {

constexpr std::uint64_t kWireSecondPs = 1'000'000'000'000, kWireNanosecondPs = 1000;
constexpr std::uint64_t kProgressStep = 4096;

}  // namespace

// The file's clock is that of the run: its first packet need not come at time 0.
bool WrittenStream::next(Stimulus& item) {
  if (!reader_.next(frame_)) return false;
  const CaptureTime start = reader_.start();
  item.kind = Stimulus::Kind::kFrame;
  item.bytes = frame_.bytes;
  item.wire_bytes = frame_.wire_bytes;
  item.link = frame_.link;
  item.time_ps = static_cast<std::uint64_t>(start.seconds) * kWireSecondPs +
                 static_cast<std::uint64_t>(start.nanoseconds) * kWireNanosecondPs + frame_.time_ps;
  item.id = ++packets_;
  if (packets_ % kProgressStep == 0 && progress_.drawing()) {
    progress_.update(reader_.position(), reader_.size(), fmt::format("{} packets", packets_));
  }
  return true;
}

}  // namespace rxnic
