// SPDX-License-Identifier: Apache-2.0
// Writes a capture again as pcapng, with what the run says about each packet in standard options.
//
//   R1  Packet n of the file is packet n of the capture. It has the packet's bytes, lengths and interface, and its time
//       to the resolution that the capture has. Packets that the run leaves out are there, too.
//   R2  The comment begins with "rxnic: ". Comments, flags, hashes and interfaces of a pcapng capture stay. Its other
//       blocks (names, statistics, keys) are not written.
//   R3  Memory does not depend on the length of the capture, but for 16 bytes a packet and what PacketNotes keeps.
#pragma once

#include "bridge/rxnic/annotate/packet_comment.h"

namespace rxnic {

inline constexpr const char* kAnnotatedFile = "annotated.pcapng";  // in the folder of a run

// How the file begins.
std::string annotated_begins();

// `reader`: of the capture, at its beginning. Returns the packets. Throws TraceError, std::invalid_argument,
// std::runtime_error: the file cannot be written.
std::uint64_t annotate(CaptureReader& reader, RunEvents& events, const PacketNotes* notes,
                       const PacketComments::Findings& findings, const std::string& path);

}  // namespace rxnic
