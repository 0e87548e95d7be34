// SPDX-License-Identifier: Apache-2.0
// What happens to QPs besides the packets that they take, as blocks notify observers of it. Nothing in the model
// depends on it.
#pragma once

#include <cstdint>

#include "model/types/ids.h"

namespace rxnic {

// What happens to a frame on its way, besides delay.
enum class NetworkHarm : std::uint8_t { kLost, kCorrupted, kDuplicated, kReordered, kSwitchFull, kCount };

enum class QpEventKind : std::uint8_t {
  kDrop,       // a packet was not carried out; detail: its DropReason
  kGap,        // a capture's QP was resynchronised; detail: PSNs that are missing
  kNak,        // a NAK or an RNR NAK is sent; detail: its syndrome
  kTimeout,    // the requester has waited in vain for a response
  kErrorCqe,   // a CQE in error is written; detail: its WcStatus
  kNetwork,    // a frame for the NIC came to harm on its way; number: QPN of its BTH; detail: its NetworkHarm
  kAsync,      // an event is written into the device's event queue; number: its object's; detail: its EventType
  kCnp,        // a CNP is sent
  kRnrWait,    // the requester waits, since an RNR NAK has asked for that
  kWentBack,   // the requester begins to send again
  kSentAgain,  // the requester sends a packet again
  kCount
};

struct QpEvent {
  QpEventKind kind{};
  std::uint32_t number = 0;  // QPN
  std::uint32_t detail = 0;
  std::uint64_t packet = 0;  // number of the packet that caused it; 0: none, or not known
};

class QpObserver {
 public:
  virtual ~QpObserver() = default;
  virtual void on_qp_event(const QpEvent& event, Cycle now) = 0;
};

// What notifies it.
class QpNotifier {
 public:
  void set_qp_observer(QpObserver* observer) { qp_observer_ = observer; }

 protected:
  ~QpNotifier() = default;
  void notify(const QpEvent& event, Cycle now) const {
    if (qp_observer_ != nullptr) qp_observer_->on_qp_event(event, now);
  }

 private:
  QpObserver* qp_observer_ = nullptr;
};

}  // namespace rxnic
