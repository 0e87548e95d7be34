// SPDX-License-Identifier: Apache-2.0
// The headers of our own requests (IBTA volume 1, 9.2 to 9.7; RoCEv2 annex A17).
//
//   R1  The source GID decides the encapsulation: RoCEv1, RoCEv2 over IPv4 or over IPv6. A destination GID of
//       another kind, or an empty entry of the GID table, gives no path (encapsulation kNone).
//   R2  UDP source port: the path's; when that is 0 a hash of both QPNs in 0xc000..0xffff, one flow in one direction.
//   R3  FIRST, MIDDLEs, LAST, or ONLY. RETH on a WRITE's first packet and on an ATOMIC WRITE; immediate data and IETH
//       on the last. A READ requests the data from its packet's offset on.
//   R4  SE on the last packet of a solicited SEND or WRITE with immediate.
//   R5  UD: Q_Key, destination QP from the WQE; a Q_Key with its high bit set stands for the QP's own.
#pragma once

#include <array>
#include <cstdint>

#include "model/core/requester/send_queue.h"
#include "model/types/context.h"
#include "model/types/send_work_queue.h"
#include "model/types/wire.h"

namespace rxnic {

// One entry of the port's GID table: what a source_gid_index stands for.
struct SourceGid {
  Encapsulation encapsulation = Encapsulation::kNone;  // kNone: empty
  Address address;                                     // kIpv4 with kRoceV2Ipv4
};

using MacAddress = std::array<std::uint8_t, 6>;

// UDP source port of a flow between two QPs (R2).
std::uint16_t flow_source_port(Qpn local, Qpn remote);
// The headers below the BTH (R1, R2).
Headers path_headers(const AddressVector& path, const SourceGid& source, const MacAddress& mac, Qpn local, Qpn remote);
// Sets BTH and extension headers for one packet of a request of `qp`; the headers below are in `h` (R3, R4).
void set_request_headers(Headers& h, const QpContext& qp, const SendRequest& request, const RequestPacket& packet);
// UD: the Q_Key that the datagram carries; destination and DETH (R5).
std::uint32_t qkey_of(const SendWqe& wqe, const QpContext& qp);
void set_datagram_headers(Headers& h, const QpContext& qp, const SendWqe& wqe);

}  // namespace rxnic
