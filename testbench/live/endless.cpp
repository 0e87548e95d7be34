// SPDX-License-Identifier: Apache-2.0
// Traffic without an end between a server and a client, of the kinds for which Debian has no program (endless.h).
//
//   tags      the client sends tagged messages: of one packet, of several, rendezvous requests, and messages without a
//             tag; of two tags in six nobody waits. The server adds each entry again as soon as it is consumed.
//   xrc       the client sends to two SRQs of the server through one QP
//   windows   the server binds three windows, each again when it is done with; the client writes and reads through the
//             others meanwhile. One is of type 1; one of type 2 is invalidated by the client's SEND, one by the server.
//   raw       the client sends Ethernet frames, which a flow takes to the server, and gets each of them back
#include <map>

#include "testbench/live/endless_kinds.h"

namespace rxnic::live {
namespace {

void traffic(const Endless& e) {
  const std::map<std::string, void (*)(const World&, Meeting&, bool)> kinds = {
      {"tags", exchange_tags}, {"xrc", exchange_xrc}, {"windows", exchange_windows}, {"raw", exchange_frames}};
  const auto kind = kinds.find(e.kind);
  if (kind == kinds.end()) throw std::runtime_error("-t: expected tags, xrc, windows or raw");
  const Patience for_ever(std::chrono::hours{1000});
  const World world(e.nic);
  Meeting meeting(e);
  kind->second(world, meeting, e.is_server());
}

}  // namespace
}  // namespace rxnic::live

int main(int argc, char** argv) { return rxnic::live::run_endless(argc, argv, rxnic::live::traffic); }
