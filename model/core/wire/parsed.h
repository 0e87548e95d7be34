// SPDX-License-Identifier: Apache-2.0
// The header fields of a packet that the parser passes to the blocks behind it.
#pragma once

#include "model/types/parsed_packet.h"
#include "model/types/wire.h"

namespace rxnic {

// The fields of `p` that come from the headers, and of an ATOMIC WRITE from its payload.
void describe(Bytes frame, const Headers& h, ParsedPacket& p);

}  // namespace rxnic
