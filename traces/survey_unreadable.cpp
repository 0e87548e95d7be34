// SPDX-License-Identifier: Apache-2.0
// A survey's frames as they come: which can be read (R1), and what those that cannot say of the two ends (R2, R13).
#include <algorithm>

#include "model/types/parse_reason.h"
#include "traces/survey_state.h"
#include "traces/unreadable_requests.h"

namespace rxnic {
namespace {

// By its opcode's operation, which manufacturers' opcodes and those of other transports have in the same bits.
bool is_response(std::uint8_t opcode) {
  constexpr unsigned kOperation = 0x1f;
  const unsigned operation = opcode & kOperation;
  return opcode == kOpcodeCnp || (operation >= static_cast<unsigned>(Operation::kReadResponseFirst) &&
                                  operation <= static_cast<unsigned>(Operation::kAtomicAck));
}

}  // namespace

DropReason unreadable_reason(const CapturedFrame& frame, CaptureSurvey::FrameCheck check) {
  if (frame.bytes.size() > kMaxFrameBytes) return DropReason::kTooLong;
  if (frame.status != ParseStatus::kOk) {
    return frame.wire_bytes > frame.bytes.size() ? DropReason::kTruncatedInCapture : reason_of(frame.status);
  }
  if (frame.headers.version != 0) return DropReason::kVersion;
  return check == nullptr ? DropReason::kNone : check(frame.bytes, frame.headers);
}

void CaptureSurvey::add(const CapturedFrame& frame) {
  SurveyState& s = *state_;
  s.census.at(frame.time_ps);
  if (frame.tunnel) s.census.tunnel(*frame.tunnel);
  const Headers& h = frame.headers;
  const bool is_fragment = frame.status == ParseStatus::kFragment;
  if (frame.status == ParseStatus::kNotRdma || (is_fragment && s.census.is_of_another_port(frame.bytes))) {
    ++s.counts.frames;
    ++s.counts.not_rdma;
    return s.census.other(frame, s.limits.icrc_matches);
  }
  const DropReason reason = unreadable_reason(frame, s.check);
  if (reason == DropReason::kNone) {
    const Bytes rest = frame.captured().subspan(h.payload_offset);
    return add(h, rest.first(std::min<std::size_t>(rest.size(), h.payload_bytes)), frame.number);
  }
  ++s.counts.frames;
  ++s.counts.damaged;
  s.unreadable(frame, h, reason);
}

void SurveyState::unreadable(const CapturedFrame& frame, const Headers& parsed, DropReason reason) {
  Headers h = parsed;
  const bool has_bth = read_bth(frame.bytes, h);
  census.unreadable(reason, h, frame.number);
  // A wrong checksum of the IP header leaves no address that could be relied on, a later fragment shows no port.
  if (reason == DropReason::kIpChecksum || !has_bth || h.destination.kind == Address::Kind::kNone) return;
  const std::uint32_t source = endpoint(h.source);
  const std::uint32_t destination = endpoint(h.destination);
  if (source == kNone || destination == kNone) {
    ++counts.ignored;
    return;
  }
  ++endpoints[source].packets_sent;
  EndpointCounts& to = endpoints[destination];
  ++to.packets_received;
  first_as_destination[destination] = std::min(first_as_destination[destination], frame.number);
  if (reason == DropReason::kIcrc) damaged(source, destination, h, frame.number);
  if (is_response(h.opcode) || is_management(h.destination_qp)) return;
  ++to.requests_received;
  const std::size_t headers = h.bth_offset + kBthBytes + kIcrcBytes;
  to.request_bytes += std::max<std::size_t>(frame.wire_bytes, headers) - headers;
}

void SurveyState::damaged(std::uint32_t source, std::uint32_t destination, const Headers& h, std::uint64_t number) {
  if (raw(h.destination_qp) == 0 || h.destination_qp == kMulticastQpn) return;
  const auto [at, fresh] = damaged_index.try_emplace(flow_key(source, destination, h.destination_qp), kNone);
  if (fresh) {
    if (damaged_flows.size() == limits.damaged_flows) {
      damaged_index.erase(at);
      ++counts.ignored;
      return;
    }
    at->second = static_cast<std::uint32_t>(damaged_flows.size());
    Flow& f = damaged_flows.emplace_back();
    f.source = source;
    f.destination = destination;
    f.qpn = h.destination_qp;
  }
  Flow& f = damaged_flows[at->second];
  f.count(h);
  if ((opcode_info(h.opcode).traits & kRequest) != 0) f.count_request(h, number);
}

}  // namespace rxnic
