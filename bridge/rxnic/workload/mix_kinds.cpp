// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/mix_kinds.h"

namespace rxnic {

namespace {

using Mix = SenderMix;

constexpr MixKind kKinds[] = {
    {"send", SendOpcode::kSend, TagUse::kNone, &Mix::send},
    {"send_imm", SendOpcode::kSendImm, TagUse::kNone, &Mix::send_imm},
    {"send_inv", SendOpcode::kSendInvalidate, TagUse::kNone, &Mix::send_inv},
    {"write", SendOpcode::kWrite, TagUse::kNone, &Mix::write},
    {"write_imm", SendOpcode::kWriteImm, TagUse::kNone, &Mix::write_imm},
    {"read", SendOpcode::kRead, TagUse::kNone, &Mix::read},
    {"compare_swap", SendOpcode::kCompareSwap, TagUse::kNone, &Mix::compare_swap},
    {"fetch_add", SendOpcode::kFetchAdd, TagUse::kNone, &Mix::fetch_add},
    {"atomic_write", SendOpcode::kAtomicWrite, TagUse::kNone, &Mix::atomic_write},
    {"eager", SendOpcode::kSend, TagUse::kEager, &Mix::eager},
    {"rendezvous", SendOpcode::kSend, TagUse::kRendezvous, &Mix::rendezvous},
};

}  // namespace

std::span<const MixKind> mix_kinds() { return kKinds; }

Transport transport_of(SenderTransport t) {
  constexpr Transport kTransports[] = {Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc};
  return kTransports[static_cast<std::size_t>(t)];
}

std::string_view transport_name(SenderTransport t) {
  constexpr std::string_view kNames[] = {"rc", "uc", "ud", "xrc"};
  return kNames[static_cast<std::size_t>(t)];
}

bool mix_kind_is_legal(const MixKind& kind, SenderTransport transport) {
  if (kind.tag != TagUse::kNone) return transport == SenderTransport::kRc;
  return is_legal(kind.opcode, transport_of(transport));
}

}  // namespace rxnic
