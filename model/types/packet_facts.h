// SPDX-License-Identifier: Apache-2.0
// Member functions of every descriptor of a packet behind the transport checker.
#pragma once

#include "model/types/completion_codes.h"
#include "model/types/drop_reason.h"
#include "model/types/opcode.h"

namespace rxnic {

enum class Outcome : std::uint8_t;

template <class Packet>
struct PacketFacts {
  const OpcodeInfo& op() const { return opcode_info(self().opcode); }
  bool has(std::uint32_t traits) const { return (op().traits & traits) != 0; }
  // A block found that it cannot be carried out.
  void fail(DropReason reason, Outcome now_is, std::uint8_t answer_syndrome, WcStatus completion) {
    auto& p = static_cast<Packet&>(*this);
    p.drop_reason = reason;
    p.outcome = now_is;
    p.syndrome = answer_syndrome;
    p.status = completion;
  }

 private:
  const Packet& self() const { return static_cast<const Packet&>(*this); }
};

}  // namespace rxnic
