// SPDX-License-Identifier: Apache-2.0
// The header fields of a packet that the parser passes to the blocks behind it, and what makes it drop one.
#pragma once

#include "model/types/drop_reason.h"
#include "model/types/packet.h"
#include "model/types/parsed_packet.h"
#include "model/types/wire.h"

namespace rxnic {

// The fields of `p` that come from the headers, and of an ATOMIC WRITE from its payload.
void describe(Bytes frame, const Headers& h, ParsedPacket& p);
// What is placed in memory and is not in the frame as it is. For a datagram over IPv4 these are the 40 bytes in front
// of its payload. They are 20 zero bytes and the IPv4 header's first 20 (rules 1.3). For an ATOMIC ACK it is the value,
// little-endian.
void make_scratch(const Headers& h, Packet& p);

// The first checksum that is wrong of IPv4's, UDP's and the ICRC, of a packet that parse() accepted; kNone: none is.
DropReason wrong_checksum(Bytes frame, const Headers& h);

}  // namespace rxnic
