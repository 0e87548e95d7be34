// SPDX-License-Identifier: Apache-2.0
// The packet inside of a frame, and whether the frame holds all of it: R6 to R8 of capture_reader.h.
#include <algorithm>
#include <array>
#include <utility>

#include "traces/capture_reader.h"

namespace rxnic {
namespace {

// End of a RoCE or InfiniBand packet in its frame by the lengths in its headers, as far as they agree; 0: not known.
std::size_t end_by_headers(Bytes frame, const Headers& h) {
  const std::uint8_t* const network = frame.data() + h.network_offset;
  switch (h.encapsulation) {
    case Encapsulation::kRoceV2Ipv4:
    case Encapsulation::kRoceV2Ipv6: {
      const std::optional<UdpAt> at = find_udp(frame);
      return at && load_be16(frame.data() + at->udp + 4) == at->end - at->udp ? at->end : 0;
    }
    case Encapsulation::kRoceV1:
    case Encapsulation::kIbGlobal:
      if (h.bth_offset == 0) return 0;  // the frame ends in its GRH
      return h.network_offset + kGrhBytes + load_be16(network + 4);
    case Encapsulation::kIbLocal:
      return (load_be16(frame.data() + 4) & 0x7ffu) * std::size_t{4};
    case Encapsulation::kNone:
      break;
  }
  return 0;
}

}  // namespace

void CaptureReader::read_as_roce(std::vector<std::uint16_t> udp_ports, IcrcCheck check, IcrcSeal seal) {
  udp_ports_ = std::move(udp_ports);
  check_ = check;
  seal_ = seal;
}

void CaptureReader::take_icrcs_as_right(IcrcCheck check, IcrcSeal seal) {
  ignore_icrcs_ = true;
  check_ = check;
  seal_ = seal;
}

// R7, R8
void CaptureReader::look_inside(CapturedFrame& out) {
  if (to_roce_port(out.bytes, udp_ports_, check_, seal_, inside_)) {
    ++on_other_udp_ports_;
    return adopt(out, inside_, out.wire_bytes);
  }
  std::array<std::vector<std::uint8_t>, 2> buffers;  // of what was opened, in turn
  Bytes frame = out.bytes;
  std::size_t wire_bytes = out.wire_bytes;
  std::optional<Tunnel> outermost;
  for (int depth = 0; depth < kMostTunnels; ++depth) {
    const std::optional<Carried> found = open_tunnel(frame, wire_bytes);
    if (!found || found->begin > frame.size() || found->begin > found->end) return;
    if (!outermost) outermost = found->tunnel;
    std::vector<std::uint8_t>& inner = buffers[depth % 2];
    inner.clear();
    if (found->ether_type != 0) {
      inner.assign(frame.begin(), frame.begin() + kEtherTypeAt + 2);
      store_be16(&inner[kEtherTypeAt], found->ether_type);
    }
    const std::size_t header = inner.size();
    const std::size_t kept = std::min(found->end, frame.size());
    inner.insert(inner.end(), frame.begin() + static_cast<std::ptrdiff_t>(found->begin),
                 frame.begin() + static_cast<std::ptrdiff_t>(kept));
    wire_bytes = header + found->end - found->begin;
    frame = inner;
    Headers h;
    const bool renumbered = to_roce_port(frame, udp_ports_, check_, seal_, inside_);
    if (!renumbered && parse(frame, out.link, h) == ParseStatus::kNotRdma && !looks_like_roce(frame, check_)) continue;
    on_other_udp_ports_ += renumbered;
    out.tunnel = outermost;
    return adopt(out, renumbered ? inside_ : inner, wire_bytes);
  }
}

void CaptureReader::adopt(CapturedFrame& out, const std::vector<std::uint8_t>& bytes, std::size_t wire_bytes) {
  if (&bytes != &inside_) inside_ = bytes;
  out.set_bytes(inside_);
  out.wire_bytes = static_cast<std::uint32_t>(std::max(wire_bytes, inside_.size()));
  out.truncated = inside_.size() < out.wire_bytes;
}

// R6
void CaptureReader::notice_cut(CapturedFrame& out) {
  if (out.truncated) return;
  if (out.status != ParseStatus::kTooShort && out.status != ParseStatus::kBadLength) return;
  const std::size_t end = end_by_headers(out.bytes, out.headers);
  if (end <= out.bytes.size()) return;
  out.wire_bytes = static_cast<std::uint32_t>(end);
  out.truncated = true;
  ++cut_by_mirror_;
}

// R8
void CaptureReader::make_icrc_right(CapturedFrame& out) {
  if (out.status != ParseStatus::kOk || check_(out.bytes, out.headers)) return;
  sealed_.assign(out.bytes.begin(), out.bytes.end());
  seal_(sealed_, out.headers);
  out.bytes = sealed_;
  ++icrcs_made_right_;
}

}  // namespace rxnic
