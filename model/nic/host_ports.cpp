// SPDX-License-Identifier: Apache-2.0
#include "model/nic/host_ports.h"

#include "model/nic/nic.h"

namespace rxnic {

HostPorts::HostPorts(const std::string& suffix)
    : landed(("landed" + suffix).c_str()),
      receive_events(("receive_events" + suffix).c_str()),
      completion_events(("completion_events" + suffix).c_str()),
      page_requests(("page_requests" + suffix).c_str()),
      receive_doorbells(("receive_doorbells" + suffix).c_str()),
      completion_doorbells(("completion_doorbells" + suffix).c_str()),
      tag_operations(("tag_operations" + suffix).c_str()) {}

void HostPorts::bind(Nic& nic) {
  landed.bind(nic.landed);
  receive_events.bind(nic.receive_events);
  completion_events.bind(nic.completion_events);
  page_requests.bind(nic.page_requests);
  receive_doorbells.bind(nic.receive_doorbells);
  completion_doorbells.bind(nic.completion_doorbells);
  tag_operations.bind(nic.tag_operations);
}

DriverPorts::DriverPorts(const std::string& suffix)
    : HostPorts(suffix),
      send_events(("send_events" + suffix).c_str()),
      command_replies(("command_replies" + suffix).c_str()),
      commands(("commands" + suffix).c_str()),
      send_doorbells(("send_doorbells" + suffix).c_str()),
      page_replies(("page_replies" + suffix).c_str()) {}

void DriverPorts::bind(Nic& nic) {
  HostPorts::bind(nic);
  send_events.bind(nic.send_events);
  command_replies.bind(nic.command_replies);
  commands.bind(nic.command_queue);
  send_doorbells.bind(nic.send_doorbells);
  page_replies.bind(nic.page_replies);
}

}  // namespace rxnic
