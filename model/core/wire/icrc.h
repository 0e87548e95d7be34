// SPDX-License-Identifier: Apache-2.0
// Checksums of a packet. Invariant CRC (IBTA volume 1, 7.8.1; RoCEv2 annex A17.3.3): CRC-32 over the packet from the
// network header to the pad. The fields that change on the way are taken as ones.
//
//   R1  Before the network header stand 8 bytes of ones: RoCE has no LRH, and a router replaces that of a packet with a
//       GRH. A local InfiniBand packet counts its LRH, with the VL taken as ones.
//   R2  Masked: IPv4 TOS, TTL, header checksum; IPv6 traffic class, flow label, hop limit; GRH likewise; UDP checksum;
//       BTH byte 4 (FECN, BECN, reserved).
//   R3  The result is stored with its least significant byte first.
//   R4  An InfiniBand packet ends with a VCRC (7.8.2): CRC-16 over all bytes from LRH to ICRC, none masked, stored
//       likewise.
//   R5  An IPv4 header ends its own checksum: the ones' complement sum of its 16-bit words is all ones (RFC 791).
//   R6  UDP (RFC 768, RFC 8200): the checksum covers the addresses, too. 0: none, over IPv6 as well (A17.3.3); senders
//       of RoCEv2 leave it so.
#pragma once

#include <cstdint>
#include <span>

#include "model/types/wire.h"

namespace rxnic {

// The ICRC that the frame should carry. `h` is what parse() gave with kOk, or build(), for it.
std::uint32_t icrc(Bytes frame, const Headers& h);
// The ICRC of a RoCE frame in two steps. The first is of the frame up to `bth_bytes` bytes of its BTH, at least 5. The
// second is of the bytes from there to the pad.
std::uint32_t icrc_begun(Bytes frame, const Headers& h, std::size_t bth_bytes);
std::uint32_t icrc_continued(std::uint32_t begun, Bytes rest);
void store_icrc(std::uint32_t value, std::uint8_t* to);  // (R3)
// Whether the frame carries it.
bool icrc_matches(Bytes frame, const Headers& h);
// Writes it (and the VCRC of an InfiniBand packet, when the frame has room for one).
void seal(std::span<std::uint8_t> frame, const Headers& h);
// VCRC of an InfiniBand packet, given its bytes from LRH to ICRC.
std::uint16_t vcrc(Bytes packet);
// Whether it carries that behind its ICRC; a packet without one, or of another link, has none that could be wrong.
bool has_vcrc(Bytes frame, const Headers& h);
bool vcrc_matches(Bytes frame, const Headers& h);
// True for every other packet. (R5) (R5)
bool ipv4_checksum_matches(Bytes frame, const Headers& h);
bool udp_checksum_matches(Bytes frame, const Headers& h);  // (R6) likewise

}  // namespace rxnic
