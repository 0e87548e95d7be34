// SPDX-License-Identifier: Apache-2.0
// The requester: packets that were made wait for their payload and leave (R2, R3, R5 of requester.h).
#include "model/blocks/requester.h"
#include "model/core/wire/icrc.h"

namespace rxnic {

Requester::Turn Requester::send_made(Cycle now) {  // (R2)
  if (now < next_leave_ || !made_.ready(now)) return Turn::kNobody;
  const Made& m = made_.front();
  if (m.lost && !m.dropped) lose(made_.front());
  if (m.dropped) {
    shared_.packets.release(m.frame.buffer);
    made_bytes_ -= m.bytes;
    made_.drop();
    next_leave_ = now + 1;
    return Turn::kSent;
  }
  if (!tx.can_push(now) || (m.completes && successes_.full())) return Turn::kRefused;
  Packet& p = shared_.packets[m.frame.buffer];
  if (p.h.encapsulation != Encapsulation::kNone) seal(p.frame.first(p.frame_bytes), p.h);
  tx.push(now, m.frame);
  made_bytes_ -= m.bytes;
  next_leave_ = now + params_.cycles_per_packet;
  if (m.completes) successes_.push(m.completion, now);  // (R3)
  if (Sq* const q = find(m.qpn, m.number)) {
    if (!m.reliable) {
      if (--q->made == 0) update(*q);
    } else if (!q->queue().waiting() && (q->deadline == kNever || q->rate.limited())) {
      restart_timer(*q, now);
    }
  }
  made_.drop();
  return Turn::kSent;
}

// The packets of the QP that have not left do not leave.
void Requester::drop_made(Sq& q) {
  q.made = 0;
  for (std::uint32_t n = 0; n < made_.size(); ++n) {
    Made& m = made_.at(n);
    m.dropped |= m.qpn == q.qpn() && m.number == q.number;
  }
}

// The payload of the packet could not be read. Packets of earlier WQEs, sent again, go on. (R5)
void Requester::lose(Made& first) {
  Sq& q = *find(first.qpn, first.number);
  if (q.completed(first.wqe)) {  // its first copy has arrived, and the program has taken its memory away
    first.dropped = true;
    return;
  }
  const std::uint32_t wqe = first.wqe;
  for (std::uint32_t n = 0; n < made_.size(); ++n) {
    Made& m = made_.at(n);
    m.dropped |= m.qpn == q.qpn() && m.number == q.number && static_cast<std::int32_t>(m.wqe - wqe) >= 0;
  }
  if (!q.reliable()) q.made = 0;
  q.lose(wqe);
  update(q);
}

}  // namespace rxnic
