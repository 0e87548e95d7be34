// SPDX-License-Identifier: Apache-2.0
// The ports of the receive parser.
#pragma once

#include "model/engine/link.h"
#include "model/types/address.h"
#include "model/types/command.h"
#include "model/types/parsed_packet.h"
#include "model/types/rx_parser_counters.h"
#include "model/types/wire_frame.h"

namespace rxnic {

class RxParserPorts : public Block {
 public:
  virtual const RxParserCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }
  // Before the simulation starts. False: there is no room for one more.
  virtual bool add_address(const Address& own) = 0;

  In<WireFrame> in{"in"};
  Out<ParsedPacket> out{"out"};
  In<SteeringCommand> commands{"commands"};
  Out<SteeringReply> command_done{"command_done"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
