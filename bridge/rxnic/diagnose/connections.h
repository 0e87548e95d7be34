// SPDX-License-Identifier: Apache-2.0
// The directions of a capture's connections, found by packet.
//
//   R1  QPs are paired as a survey of the capture pairs them (traces/survey_pairs.h). Answers to a QP without a partner
//       belong to no direction: unpaired() counts them, and NAKs among them are kept (orphan_naks()). Each sender of
//       datagrams to a QP is a direction.
//   R2  A CNP belongs to the direction whose requests it slows down. When there are none, to the one whose READ
//       responses its receiver sends. When nothing shows its partner, to the only direction that it may be of, if there
//       is one.
//   R3  Memory is bounded: kMostDirections; packets of others are counted.
#pragma once

#include <deque>
#include <map>

#include "bridge/rxnic/diagnose/direction.h"
#include "traces/sniffer.h"

namespace rxnic {

class Connections {
 public:
  static constexpr std::size_t kMostDirections = 65536;

  explicit Connections(const CaptureSurvey& survey);

  // A packet that can be read.
  void add(const Headers& h, const At& at);
  // The packet was overtaken before the sniffer. Before it is added.
  void overtaken(const SniffedFlow& flow, std::uint64_t packet);
  // One that cannot, as far as its QP is known.
  void damaged(const Headers& h, DropReason reason, const At& at);
  // The next request of that flow is the first of a new connection.
  void restart(const SniffedFlow& flow);
  // After the last packet.
  void finish();

  const std::deque<Direction>& directions() const { return directions_; }
  // CNPs of which no direction is known (R2), by flow.
  const std::map<SniffedFlow, Marks>& other_cnps() const { return other_cnps_; }
  std::uint64_t unpaired() const { return unpaired_; }
  // NAKs to QPs whose requests the capture does not hold, by syndrome.
  using OrphanNaks = std::map<std::uint8_t, Marks>;
  const std::map<SniffedFlow, OrphanNaks>& orphan_naks() const { return orphan_naks_; }
  std::uint64_t beyond() const { return beyond_; }

 private:
  struct Roles {
    Direction* requests = nullptr;
    Direction* answers = nullptr;
  };
  Roles& roles(const SniffedFlow& flow);
  Direction* make(const DirectionEnds& ends);
  Direction* of_request(const Headers& h, Roles& roles);

  std::map<SniffedFlow, Roles> flows_;
  std::deque<Direction> directions_;
  std::map<SniffedFlow, Marks> other_cnps_;
  std::map<SniffedFlow, OrphanNaks> orphan_naks_;
  std::map<std::pair<SniffedFlow, std::uint32_t>, Direction*> datagrams_;  // by source QP, too
  SniffedFlow last_flow_;
  Roles* last_ = nullptr;
  std::uint64_t unpaired_ = 0, beyond_ = 0;
};

}  // namespace rxnic
