// SPDX-License-Identifier: Apache-2.0
// The device's own WQEs: the READ and the FIN of a rendezvous (R8 of send_qp.h).
#include "model/core/requester/send_qp.h"

namespace rxnic {

bool SendQp::post_rendezvous(const RendezvousRequest& request, Cycle now) {
  if (!own_ || context_.qp.state == QpState::kReset) return false;
  post_own({port_.rendezvous.add(request), false, now});
  return true;
}

void SendQp::post_own(const OwnWqe& wqe) {
  auto at = own_wqes_.end();
  if (wqe.finish && !stopped_) {  // before READs that have not begun
    at = own_wqes_.begin() + static_cast<std::ptrdiff_t>(ring_.next() - first_own_);
    has_wqe_ = false;
  }
  own_wqes_.insert(at, wqe);
  ring_.ring(ring_.producer() + 1, oldest(), wqe.posted);
  ring_.fetched(1);
}

std::uint32_t SendQp::settle_rendezvous(bool fails, Cycle now) {
  std::uint32_t fins = 0;
  while (!own_wqes_.empty() && completed(first_own_)) {
    const OwnWqe wqe = own_wqes_.front();
    if (wqe.finish) {
      drop_own();
    } else if (fails) {
      break;
    } else {
      own_wqes_.pop_front();
      ++first_own_;
      post_own({wqe.entry, true, now});
      ++fins;
    }
  }
  return fins;
}

// The oldest, with its rendezvous.
void SendQp::drop_own() {
  port_.rendezvous.release(own_wqes_.front().entry);
  own_wqes_.pop_front();
  ++first_own_;
}

void SendQp::release_own() {
  while (!own_wqes_.empty()) drop_own();
  first_own_ = 0;
}

WcStatus SendQp::compose(std::uint32_t wqe) {
  const OwnWqe& own = own_wqe(wqe);
  wqe_ = own.finish ? port_.rendezvous.finish_wqe(own.entry) : port_.rendezvous.read_wqe(own.entry);
  return wqe_.bytes > kMaxSendBytes ? WcStatus::kLocalLength : check(port_.rendezvous[own.entry].pd);
}

}  // namespace rxnic
