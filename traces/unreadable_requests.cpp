// SPDX-License-Identifier: Apache-2.0
#include "traces/unreadable_requests.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/types/syndrome.h"

namespace rxnic {
namespace {

bool positive(const Headers& h) {
  return (opcode_info(h.opcode).traits & kHasAeth) == 0 || ack_kind(h.syndrome) == AckKind::kAck;
}

std::string answer_words(const Headers& h) {
  if ((opcode_info(h.opcode).traits & kHasAeth) == 0) return opcode_name(h.opcode);
  switch (ack_kind(h.syndrome)) {
    case AckKind::kNak:
      return fmt::format("NAK {:#04x}", h.syndrome);
    case AckKind::kRnrNak:
      return "an RNR NAK";
    default:
      return opcode_name(h.opcode);
  }
}

}  // namespace

bool read_bth(Bytes frame, Headers& h) {
  if (h.bth_offset == 0 || frame.size() <= h.bth_offset) return false;
  const Bytes bth = frame.subspan(h.bth_offset);
  h.opcode = bth[0];
  if (bth.size() >= 8) h.destination_qp = Qpn{load_be32(bth.data() + 4) & k24Bits};
  if (bth.size() >= kBthBytes) h.psn = Psn{load_be32(bth.data() + 8) & k24Bits};
  return true;
}

std::string unreadable_words(DropReason reason) {
  switch (reason) {
    case DropReason::kTruncatedInCapture:
      return "cut by the capture";
    case DropReason::kTooLong:
      return "payload above the largest MTU (4096)";
    case DropReason::kTooShort:
      return "shorter than a BTH";
    case DropReason::kBadLength:
      return "lengths that disagree";
    case DropReason::kFragment:
      return "IP fragment";
    case DropReason::kExtensionHeader:
      return "IPv6 extension header";
    case DropReason::kIpChecksum:
      return "IPv4 header checksum wrong";
    case DropReason::kUdpChecksum:
      return "UDP checksum wrong";
    case DropReason::kUnknownOpcode:
      return "unknown opcode";
    case DropReason::kVendorOpcode:
      return "manufacturer's opcode";
    case DropReason::kMissingHeaders:
      return "shorter than the headers of the opcode";
    case DropReason::kPad:
      return "pad count larger than the payload";
    case DropReason::kVersion:
      return "header version (TVER) not 0";
    case DropReason::kIcrc:
      return "ICRC wrong";
    default:
      return std::string(name_of(reason));
  }
}

std::string opcode_words(std::uint8_t opcode) {
  // ConnectX calls them extended atomics (ibv_exp_post_send of its OFED); 0x18 to 0x1b are reserved by IBTA.
  if (opcode == 0x18) return "0x18 (masked COMPARE_SWAP of ConnectX)";
  if (opcode == 0x19) return "0x19 (masked FETCH_ADD of ConnectX)";
  constexpr unsigned kTransport = 5;
  constexpr unsigned kRd = 2;
  return fmt::format("{:#04x}{}", opcode, opcode >> kTransport == kRd ? " (RD)" : "");
}

UnreadableRequests::UnreadableRequests(const ReceiverSurvey& survey) {
  for (const SurveyedQp& qp : survey.qps) {
    if (qp.paired_by != PairedBy::kNone) own_[{qp.peer, raw(qp.peer_qpn)}] = qp.qpn;
  }
}

void UnreadableRequests::request(const CapturedFrame& frame, DropReason reason) {
  Headers h = frame.headers;
  if (!read_bth(frame.bytes, h) || frame.captured().size() < h.bth_offset + kBthBytes) return;
  if (kept_.size() == kMostKept) kept_.pop_front();
  kept_.push_back({h.source, h.destination_qp, h.psn, h.opcode, reason, frame.number, frame.time_ps});
}

void UnreadableRequests::answer(const CapturedFrame& frame) {
  if (kept_.empty()) return;
  const Headers& h = frame.headers;
  const auto paired = own_.find({h.destination, raw(h.destination_qp)});
  for (auto k = kept_.rbegin(); k != kept_.rend(); ++k) {
    if (k->source != h.destination) continue;
    const bool same_qp = paired != own_.end() && paired->second == k->qpn;
    const std::int32_t behind = h.psn - k->psn;
    const bool exact = behind == 0 && (same_qp || paired == own_.end());  // (R1)
    const bool covers = same_qp && behind > 0 && positive(h);             // (R2)
    if (!exact && !covers) continue;
    note(*k, frame);
    kept_.erase(std::next(k).base());
    return;
  }
}

void UnreadableRequests::note(const Kept& r, const CapturedFrame& answer) {
  ++answered_;
  if (notes_.size() == kMostNotes) return;
  const bool by_opcode = r.reason == DropReason::kUnknownOpcode || r.reason == DropReason::kVendorOpcode;
  const std::string why = unreadable_words(r.reason) + (by_opcode ? " " + opcode_words(r.opcode) : "");
  const auto us = [](std::uint64_t ps) { return static_cast<double>(ps) * 1e-6; };
  notes_.push_back(fmt::format(
      "packet {} to QP {:#x}, PSN {} ({}): the captured receiver answered {} (packet {} at {:.3f} us, {:.3f} us later)",
      r.number, raw(r.qpn), r.psn.value, why, answer_words(answer.headers), answer.number, us(answer.time_ps),
      us(answer.time_ps - r.time_ps)));
}

}  // namespace rxnic
