// SPDX-License-Identifier: Apache-2.0
// One completion queue as the device sees it: room, and when its armed event is due. All of it is its record in host
// memory (types/completion.h).
//
//   R1  There is room for n slots when producer - consumer + n <= slots; a CQ that ignores overruns always has room.
//   R2  An armed CQ raises one event, which disarms it. The CQEs that count for the event are those from the consumer
//       index of the arming doorbell on. Software knows of the CQEs before this index, polled or not. Armed for
//       solicited only, the CQEs that count are those among them that are solicited or in error. Armed for any it stays
//       so when it is armed for solicited only.
//   R3  Moderation: the event is due when `moderation_count` CQEs that count are written, or when the first of them is
//       `moderation_period` old, whichever comes first. A count of 0 or 1: with the first. A period of 0: no limit.
//   R4  So CQEs that software has not seen when it arms the CQ always raise an event (with R3, at the latest a period
//       later).
//   R5  The consumer index never passes the producer index: a doorbell with such an index is ignored.
#pragma once

#include <cstdint>

#include "model/types/completion.h"
#include "model/types/ids.h"

namespace rxnic {

class CompletionQueue {
 public:
  CompletionQueue() = default;
  CompletionQueue(const CqContext& context, std::uint64_t moderation_period_cycles)
      : period_(moderation_period_cycles) {
    static_cast<CqContext&>(record_) = context;
  }

  // What is kept of it in host memory. Whoever puts another one there sets its period.
  CqRecord& record() { return record_; }
  const CqRecord& record() const { return record_; }
  void set_period(std::uint64_t cycles) { period_ = cycles; }

  const CqContext& context() const { return record_; }
  std::uint32_t producer() const { return record_.producer; }
  std::uint32_t consumer() const { return record_.consumer; }
  CqArm armed() const { return record_.armed; }
  void set_moderation(std::uint16_t count, std::uint64_t period_cycles);

  bool has_room(std::uint32_t slots) const {  // (R1)
    return record_.ignore_overrun || record_.producer - record_.consumer + slots <= record_.slots;
  }
  void consume(std::uint32_t index);
  void arm(std::uint32_t index, bool for_solicited, Cycle now);
  // `slots` were written for `completions`, of which all or none are solicited.
  void produce(std::uint32_t slots, std::uint32_t completions, bool solicited, Cycle now);

  // Changes to another ring, in which CQE `first`, the oldest that software has not polled, becomes CQE 0.
  void renumber(const CqContext& to, std::uint32_t first);

  // When the event is due, kNever when none is.
  Cycle event_due() const { return record_.due; }
  // It was raised.
  void disarm();

 private:
  void count(std::uint32_t completions, Cycle now);

  CqRecord record_;
  std::uint64_t period_ = 0;  // of its moderation, in cycles: moderation_period_us by the NIC's clock
};

}  // namespace rxnic
