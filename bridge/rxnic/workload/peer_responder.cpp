// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/peer_responder.h"

#include <algorithm>

#include "model/types/opcode.h"
#include "model/types/syndrome.h"

namespace rxnic {

void PeerResponder::on_request(const Headers& h) {
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  const bool read = (traits & kRead) != 0;
  if (!read && (traits & (kLast | kOnly)) == 0) return;
  msn_ = (msn_ + 1) & 0xffffff;
  due_.push_back({h.psn, read ? h.length : 0, 0, read, msn_});
}

SenderPayload PeerResponder::next(Headers& h, std::uint32_t mtu) {
  Due& due = due_.front();
  SenderPayload payload;
  Operation operation = Operation::kAck;
  h.psn = due.psn;
  bool over = true;
  if (due.read) {
    const bool first = due.done == 0;
    h.psn = due.psn + due.done / mtu;
    payload.bytes = std::min(mtu, due.bytes - due.done);
    due.done += payload.bytes;
    over = due.done == due.bytes;
    operation = first ? (over ? Operation::kReadResponseOnly : Operation::kReadResponseFirst)
                      : (over ? Operation::kReadResponseLast : Operation::kReadResponseMiddle);
  }
  h.opcode = opcode_of(Transport::kRc, operation);
  h.syndrome = kAckUnlimited;
  h.msn = due.msn;
  if (over) due_.pop_front();
  return payload;
}

}  // namespace rxnic
