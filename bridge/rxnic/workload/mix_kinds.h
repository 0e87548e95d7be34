// SPDX-License-Identifier: Apache-2.0
// The kinds of message that a mix can have.
#pragma once

#include <span>
#include <string_view>

#include "bridge/rxnic/workload/workload_page.h"
#include "model/types/ids.h"
#include "model/types/send_opcode.h"

namespace rxnic {

enum class TagUse : std::uint8_t { kNone, kEager, kRendezvous };

struct MixKind {
  std::string_view name;
  SendOpcode opcode;
  TagUse tag;
  std::uint64_t SenderMix::*weight;
};

std::span<const MixKind> mix_kinds();
Transport transport_of(SenderTransport t);
std::string_view transport_name(SenderTransport t);  // as a page has it
// Tagged messages are SENDs of a connected QP whose receives come from a TM SRQ: RC.
bool mix_kind_is_legal(const MixKind& kind, SenderTransport transport);

}  // namespace rxnic
