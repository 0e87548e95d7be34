// SPDX-License-Identifier: Apache-2.0
// Commands by which the parser learns which QPs get a multicast packet or a frame that is not RDMA.
#include <cstring>

#include "model/blocks/command_processor.h"
#include "model/types/flow.h"

namespace rxnic {

static_assert(sizeof(FlowMailbox) <= sizeof(SteeringCommand::mailbox));
static_assert(sizeof(RssMailbox) == sizeof(SteeringCommand::mailbox));

CommandProcessor::Next CommandProcessor::read_group(Cycle now) {
  return read(command_.mailbox_address, sizeof(Address), now);
}
CommandProcessor::Next CommandProcessor::read_flow(Cycle now) {
  return read(command_.mailbox_address, sizeof(FlowMailbox), now);
}
CommandProcessor::Next CommandProcessor::read_rss(Cycle now) {
  return read(command_.mailbox_address, sizeof(RssMailbox), now);
}

// For the QP of the command's number.
SteeringCommand CommandProcessor::steer(SteeringOperation operation) const {
  SteeringCommand c;
  c.operation = operation;
  c.qpn = Qpn{command_.number};
  return c;
}

CommandProcessor::Next CommandProcessor::attach_group(Cycle now) {
  SteeringCommand c = steer(SteeringOperation::kAttach);
  c.group = mailbox<Address>();
  return ask(steering, c, now);
}

CommandProcessor::Next CommandProcessor::detach_group(Cycle now) {
  SteeringCommand c = steer(SteeringOperation::kDetach);
  c.group = mailbox<Address>();
  return ask(steering, c, now);
}

CommandProcessor::Next CommandProcessor::add_flow(Cycle now) {
  SteeringCommand c;
  c.operation = SteeringOperation::kAddFlow;
  c.flow = command_.number;
  std::memcpy(c.mailbox.data(), buffer_.data(), sizeof(FlowMailbox));
  return ask(steering, c, now);
}

CommandProcessor::Next CommandProcessor::remove_flow(Cycle now) {
  SteeringCommand c;
  c.operation = SteeringOperation::kRemoveFlow;
  c.flow = command_.number;
  return ask(steering, c, now);
}

CommandProcessor::Next CommandProcessor::count_flow(Cycle now) {
  SteeringCommand c;
  c.operation = SteeringOperation::kReadFlow;
  c.flow = command_.number;
  return ask(steering, c, now);
}

CommandProcessor::Next CommandProcessor::write_counts(Cycle now) {
  if (command_.mailbox_address == BusAddress{}) return Next::kGoesOn;  // nobody asks
  const FlowCounts counts{steering_.packets, steering_.bytes};
  std::memcpy(buffer_.data(), &counts, sizeof counts);
  return write(command_.mailbox_address, sizeof counts, now);
}

CommandProcessor::Next CommandProcessor::add_rss(Cycle now) {
  SteeringCommand c = steer(SteeringOperation::kAddRss);
  std::memcpy(c.mailbox.data(), buffer_.data(), sizeof(RssMailbox));
  return ask(steering, c, now);
}

CommandProcessor::Next CommandProcessor::remove_rss(Cycle now) {
  return ask(steering, steer(SteeringOperation::kRemoveRss), now);
}

CommandProcessor::Next CommandProcessor::end_unless_added(Cycle) {
  return steering_.ok ? Next::kGoesOn : end(CommandStatus::kNoRoom);
}

}  // namespace rxnic
