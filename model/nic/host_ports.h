// SPDX-License-Identifier: Apache-2.0
// The host's side of a NIC's links. A block that is a NIC's host derives from one of these, or has one for each NIC:
//
//     class MyHost final : public rxnic::Block, public rxnic::DriverPorts { ... };
//     host.bind(nic);
//
//   R1  The ports are children of the module that is being constructed, and wake it. Each port has the name of its
//       link and the suffix, by which a host of several NICs tells their ports apart.
//   R2  HostPorts are for a host whose objects exist before the first cycle. DriverPorts are for a host that also gives
//       commands, answers page requests and rings the doorbells of send queues.
#pragma once

#include <string>

#include "model/engine/link.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/tag_operation.h"

namespace rxnic {

class Nic;

struct HostPorts {
  explicit HostPorts(const std::string& suffix = "");
  void bind(Nic& nic);

  In<HostNotice> landed;
  In<Event> receive_events, completion_events, page_requests;
  Out<Doorbell> receive_doorbells, completion_doorbells;
  Out<TagOperation> tag_operations;
};

struct DriverPorts : HostPorts {
  explicit DriverPorts(const std::string& suffix = "");
  void bind(Nic& nic);

  In<Event> send_events;
  In<CommandReply> command_replies;
  Out<DriverCommand> commands;
  Out<Doorbell> send_doorbells, page_replies;
};

}  // namespace rxnic
