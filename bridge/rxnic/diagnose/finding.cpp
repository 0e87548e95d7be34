// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rxnic {

using Json = nlohmann::ordered_json;

namespace {

struct FindingCauseWords {
  const char* name;
  const char* title;
  const char* meaning;
};
constexpr std::array<FindingCauseWords, static_cast<std::size_t>(FindingCause::kCount)> kCauses{{
    {"connection_refused", "connection refused",
     "Connection management was answered with a REJ, or a SIDR_REP that refuses."},
    {"connection_unanswered", "connection not answered", "A REQ or REP was repeated, and nobody answered it."},
    {"remote_access_error", "remote access error", "NAK 0x62: the responder does not allow this access to its memory."},
    {"invalid_request", "invalid request",
     "NAK 0x61: the responder does not take such a request, or not in this length or order."},
    {"remote_operational_error", "remote operational error",
     "NAK 0x63: the responder could not carry out the request."},
    {"other_nak", "NAK of an unknown code", "A NAK with a code that the specification reserves."},
    {"no_answer", "no answer", "A request came again and again, and nothing answered it until the end of the capture."},
    {"pkey", "P_Key",
     "Requests have another P_Key than the responder's packets: the responder drops them without an answer."},
    {"qkey", "Q_Key",
     "Datagrams have another Q_Key than most to the same QP: the receiver drops them without an answer."},
    {"psn_reused", "PSN used again", "A request has the PSN of an earlier, different one, or of a response to a READ."},
    {"opcode_sequence", "packets of a message out of sequence",
     "A MIDDLE or LAST without its FIRST, or a new message inside another one."},
    {"mtu", "MTU", "Packets that should carry the MTU carry something else."},
    {"icrc", "wrong ICRC", "The capture holds packets with a wrong ICRC: damaged on the way to the sniffer."},
    {"unreadable", "unreadable", "The capture holds requests that no NIC can read."},
    {"rnr", "receiver not ready", "RNR NAKs: the responder had no receive posted when the request came."},
    {"lost_before_sniffer", "lost before the sniffer",
     "The capture lacks a packet, and the responder has not got it either: NAK 0x60, or it came later."},
    {"lost_behind_sniffer", "lost behind the sniffer",
     "The capture holds a packet that the responder has not got: NAK 0x60."},
    {"lost_between_captures", "lost between the captures",
     "Of two captures, only the one near the sender holds the packet."},
    {"overtaken", "overtaken",
     "A packet came behind later ones, and the responder refused that: NAK 0x60. Nothing was lost."},
    {"read_again", "READ asked for again", "The requester repeated a READ: responses to it were lost."},
    {"ack_lost", "ACK lost", "A request came again although the responder had it: its ACK was lost."},
    {"ack_timeout", "timeout", "A request came again without a NAK: it was lost, or its ACK was."},
    {"uc_loss", "UC packets lost", "PSNs are missing in requests to a UC QP: the messages that they are of are lost."},
    {"pause", "paused", "Pause frames: the receiver of these frames stops sending."},
    {"congestion", "congestion",
     "Packets marked Congestion Experienced (CE), or CNPs that ask the sender to slow down."},
    {"slow_receiver", "slow receiver",
     "The responder answers one QP much later than its others, and than the model does."},
    {"no_credits", "no credits",
     "ACKs with a credit count of 0: no receive is posted, the requester may send one packet only."},
    {"ack_beyond", "ACK of what was not sent", "The last ACK is for PSNs that the capture does not hold."},
    {"psn_gap", "PSN gap", "PSNs are missing, and the capture does not tell whether the responder has got them."},
    {"lost_by_sniffer", "lost by the sniffer",
     "The capture lacks packets that were acknowledged: only the sniffer lost them."},
    {"keep_alive", "keep-alive only", "All requests of the QP are empty."},
    {"copies", "captured twice", "Packets were captured twice: a mirror of both ports, or two interfaces."},
    {"reordered", "out of order", "Packets were overtaken within microseconds, by the sniffer or on the way."},
    {"overtaken_between_captures", "overtaken between the captures",
     "Packets of a QP change their order between two captures."},
    {"sampled", "sampled", "The capture holds one packet in N only."},
}};

}  // namespace

std::string_view name_of(FindingCause cause) { return kCauses[static_cast<std::size_t>(cause)].name; }
std::string_view title_of(FindingCause cause) { return kCauses[static_cast<std::size_t>(cause)].title; }
std::string_view meaning_of(FindingCause cause) { return kCauses[static_cast<std::size_t>(cause)].meaning; }

std::string_view name_of(Weight weight) {
  constexpr std::array kNames{"fatal", "costs_time", "hint"};
  return kNames[static_cast<std::size_t>(weight)];
}

void rank(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    if (a.weight != b.weight) return a.weight < b.weight;
    if (a.stalled_ps != b.stalled_ps) return a.stalled_ps > b.stalled_ps;
    return a.from_ps < b.from_ps;
  });
}

std::map<std::uint64_t, std::string> words_by_packet(const Diagnosis& d) {
  std::map<std::uint64_t, std::string> words;
  for (const Finding& f : d.findings) {
    for (const std::uint64_t packet : f.packets) {
      std::string& of = words[packet];
      of += fmt::format("{}finding: {}: {}", of.empty() ? "" : "; ", name_of(f.cause), f.words);
    }
  }
  return words;
}

Json diagnosis_json(const Diagnosis& d) {
  Json j;
  j["captures"] = d.captures;
  j["packets"] = d.packets;
  j["rdma_packets"] = d.rdma;
  j["duration_ns"] = d.duration_ps / 1000;
  j["directions"] = d.directions;
  j["sick_qps"] = d.sick_qps;
  j["findings"] = Json::array();
  for (const Finding& f : d.findings) {
    Json one;
    one["qp"] = f.qp ? Json(raw(*f.qp)) : Json();
    one["cause"] = name_of(f.cause);
    one["weight"] = name_of(f.weight);
    one["requester"] = f.requester;
    one["responder"] = f.responder;
    one["peer_qp"] = f.peer_qp && raw(*f.peer_qp) != 0 ? Json(raw(*f.peer_qp)) : Json();
    one["psn"] = f.psn ? Json(f.psn->value) : Json();
    one["count"] = f.count;
    one["from_ns"] = f.from_ps / 1000;
    one["stalled_ns"] = f.stalled_ps / 1000;
    one["packets"] = f.packets;
    one["words"] = f.words;
    j["findings"].push_back(std::move(one));
  }
  j["notes"] = d.notes;
  j["congestion_timeline"] = Json::array();
  for (const CongestionEvent& e : d.timeline) {
    j["congestion_timeline"].push_back(
        {{"ns", e.time_ps / 1000}, {"packet", e.packet}, {"kind", e.kind}, {"qp", e.qp ? Json(raw(*e.qp)) : Json()}});
  }
  j["congestion_timeline_left_out"] = d.timeline_left_out;
  return j;
}

}  // namespace rxnic
