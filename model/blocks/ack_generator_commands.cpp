// SPDX-License-Identifier: Apache-2.0
// The command by which the command processor waits for packets and atomics (R9 of ack_generator.h).
#include "model/blocks/ack_generator.h"

namespace rxnic {

// The command stays in the link until it is answered.
void AckGenerator::carry_out_command(Cycle now) {
  const RetireCommand& command = *commands.peek(now);
  const bool done = counters_.packets >= command.packets && !(raw(command.key) != 0 && has_atomic_on(command.key));
  if (!done || !command_done.can_push(now)) {
    wake();
    return;
  }
  commands.drop(now);
  command_done.push(now, {});
}

bool AckGenerator::has_atomic_on(Key region) const {
  for (Index at = 0; at < atomic_regions_.size(); ++at) {
    const OwedAnswer& a = answers_[at];
    if (a.needs == AnswerNeeds::kAtomic && !a.replay && !a.done && a.line != kNoLine && atomic_regions_[at] == region) {
      return true;
    }
  }
  return false;
}

}  // namespace rxnic
