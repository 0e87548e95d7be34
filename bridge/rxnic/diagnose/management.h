// SPDX-License-Identifier: Apache-2.0
// What went wrong in connection management (QP1), from its messages in a capture (bridge/cm/mad.h).
//
//   R1  A REJ refuses what its sender was asked. The finding names the QP of the REQ or REP, and the reason (IBTA
//       volume 1, table 109).
//   R2  A REQ that came more than once and got no REP, REJ or MRA was not answered. So was a REP without RTU, data or
//       REJ that came more than once.
//   R3  A SIDR_REP with a status other than 0 refuses a datagram service.
//   R4  Memory is bounded: kMostKept exchanges.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "bridge/rxnic/diagnose/direction.h"

namespace rxnic {

class Management {
 public:
  static constexpr std::size_t kMostKept = 16384;

  void add(const Headers& h, Bytes mad, const At& at);
  std::vector<Finding> findings() const;

  // What the REQ or REP of a QP said, when there was one: codes of 4.096 us * 2^n; rnr_retry 7: for ever.
  struct Promises {
    std::uint8_t ack_timeout = 0, retry_count = 0, rnr_retry = 0;
  };
  const Promises* of_requester(const Address& address, Qpn qpn) const;

 private:
  struct Exchange {
    Qpn qpn{};  // of the sender
    Address from, to;
    bool reply = false, lookup = false;
    std::uint64_t service_id = 0;
    std::vector<std::uint64_t> packets;
    std::uint64_t first_ps = 0, last_ps = 0;
    bool answered = false;
    std::uint16_t reason = 0;  // of the REJ; SIDR: status
    std::uint64_t refused_by = 0;
  };
  using Id = std::pair<Address, std::uint32_t>;
  Exchange* begin(const Headers& h, std::uint32_t id, const At& at);
  Exchange* find(const Address& sender, std::uint32_t id);

  std::map<Id, std::size_t> index_;
  std::vector<Exchange> exchanges_;
  std::map<std::pair<Address, std::uint32_t>, Promises> promises_;
};

}  // namespace rxnic
