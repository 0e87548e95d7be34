// SPDX-License-Identifier: Apache-2.0
// When a packet passes the stations of its path, for observers: nothing in the model depends on it. The stamps stand in
// the packet's buffer; a packet without a buffer has none.
#pragma once

#include "model/types/packet.h"

namespace rxnic {

class PacketStamps {
 public:
  PacketStamps(PacketPool& packets) : packets_(&packets) {}  // NOLINT(google-explicit-constructor): a part of it
  // The packet has left the station.
  void stamp(PacketHandle buffer, Station station, Cycle now) const {
    if (buffer != kNoPacket) (*packets_)[buffer].stamp(station, now);
  }
  // The station has taken the packet from its input.
  void stamp_taken(PacketHandle buffer, Station station, Cycle now) const {
    if (buffer != kNoPacket) (*packets_)[buffer].stamp_taken(station, now);
  }
  // Likewise, of a station that leaves the packet in its input while the packet waits for what it needs: only the first
  // time counts.
  void stamp_begun(PacketHandle buffer, Station station, Cycle now) const {
    if (buffer != kNoPacket && (*packets_)[buffer].taken(station) == Cycle{}) stamp_taken(buffer, station, now);
  }
  const Passages& of(PacketHandle buffer) const { return (*packets_)[buffer].stamps; }
  std::uint64_t number(PacketHandle buffer) const { return (*packets_)[buffer].id; }

 private:
  PacketPool* packets_;
};

}  // namespace rxnic
