// SPDX-License-Identifier: Apache-2.0
#include "traces/traffic.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "model/types/opcode_table.h"
#include "model/types/tag_matching.h"
#include "traces/traffic_layout.h"

namespace rxnic {
namespace {

constexpr double kFrameGapBytes = 24;
constexpr double kPsPerBitAtOneGbps = 1000;

using Weights = std::array<std::uint32_t, static_cast<std::size_t>(SendOpcode::kCount)>;

// On the wire TSO is SENDs.
constexpr bool has_packets_of_its_own(const opcode_table::SendRow& row) {
  return row.only != Operation::kUnknown && row.opcode != SendOpcode::kTso;
}
static_assert(sizeof(TrafficMix) / sizeof(std::uint32_t) ==
                  std::count_if(opcode_table::kSends.begin(), opcode_table::kSends.end(), has_packets_of_its_own),
              "every SendOpcode that has packets of its own has a weight");
Weights weights_of(const TrafficMix& m) {
  Weights weights{};
  const auto set = [&weights](SendOpcode o, std::uint32_t weight) { weights[static_cast<std::size_t>(o)] = weight; };
  set(SendOpcode::kSend, m.send);
  set(SendOpcode::kSendImm, m.send_imm);
  set(SendOpcode::kSendInvalidate, m.send_inv);
  set(SendOpcode::kWrite, m.write);
  set(SendOpcode::kWriteImm, m.write_imm);
  set(SendOpcode::kRead, m.read);
  set(SendOpcode::kCompareSwap, m.swap);
  set(SendOpcode::kFetchAdd, m.add);
  set(SendOpcode::kAtomicWrite, m.atomic_write);
  return weights;
}

}  // namespace

Traffic::Traffic(const TrafficConfig& config)
    : config_(config), common_(common()), state_(config.seed * 0x9e3779b97f4a7c15u + 1) {
  if (config.rc_qps + config.uc_qps + config.ud_qps + config.xrc_qps == 0 || config.min_bytes > config.max_bytes ||
      config.max_bytes > kMaxSendBytes || config.mtu == 0 || config.mtu > kMaxMtu || config.tags == 0) {
    throw std::invalid_argument("traffic needs a QP, min_bytes <= max_bytes <= 2^30, an MTU up to 4096 and a tag");
  }
  weights_ = weights_of(config.mix);
  if (config_.receive_buffer == 0) config_.receive_buffer = config.max_bytes;
  for (std::uint8_t& b : pattern_) b = static_cast<std::uint8_t>(random() >> 56);
  for (std::uint32_t i = 0; i < config.rc_qps; ++i) add_stream(Transport::kRc);
  for (std::uint32_t i = 0; i < config.uc_qps; ++i) add_stream(Transport::kUc);
  for (std::uint32_t i = 0; i < config.ud_qps; ++i) add_stream(Transport::kUd);
  for (std::uint32_t i = 0; i < config.xrc_qps; ++i) add_stream(Transport::kXrc);
  next_spare_ = static_cast<std::uint32_t>(streams_.size());
  const std::size_t active = streams_.size();
  for (std::uint32_t i = 0; i < config.spare_qps; ++i) add_stream(Transport::kRc);
  streams_.resize(active);
  last_.resize(active);
}

// splitmix64
std::uint64_t Traffic::random() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void Traffic::add_stream(Transport transport) {
  const auto index = static_cast<std::uint32_t>(qps_.size());
  Stream s;
  s.qpn = Qpn{traffic::kFirstQpn + index};
  s.transport = transport;
  s.psn = Psn{static_cast<std::uint32_t>(random() >> 40)};
  streams_.push_back(s);
  SurveyedQp q;
  q.qpn = s.qpn;
  q.transport = transport;
  q.peer = config_.sender;
  q.peer_qpn = Qpn{traffic::kFirstPeerQpn + index};
  q.paired_by = PairedBy::kOnlyPair;
  q.mtu = config_.mtu;
  q.mtu_from = MtuFrom::kPackets;
  q.assumed = false;
  q.qkey = transport == Transport::kUd ? traffic::kQkey : 0;
  q.has_requests = true;
  q.first_psn = s.psn;
  q.msn_known = true;
  q.largest_send = config_.receive_buffer;
  q.largest_message = config_.max_bytes;
  if (transport == Transport::kXrc) q.xrc_srqs = {traffic::kXrcSrq};
  qps_.push_back(std::move(q));
}

// What a host that rounds its buffers up, and adds a GRH's 40 bytes, may have.
std::uint32_t Traffic::largest_buffer() const {
  return std::max<std::uint32_t>(256, (config_.receive_buffer + 63) / 64 * 64) + static_cast<std::uint32_t>(kGrhBytes);
}

std::uint32_t Traffic::largest_message() const { return std::max<std::uint32_t>(config_.max_bytes, config_.mtu); }

ReceiverSurvey Traffic::survey() const {
  ReceiverSurvey r;
  r.receiver = config_.receiver;
  r.qps = qps_;
  const std::uint64_t bytes = traffic::region_bytes(largest_message());
  constexpr std::uint8_t kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  r.regions.push_back({traffic::kDataKey, traffic::kDataVa, traffic::kDataVa + bytes, kAll, 0, 0});
  r.regions.push_back({traffic::kReadOnlyKey, traffic::kReadOnlyVa, traffic::kReadOnlyVa + bytes, kRemoteRead, 0, 0});
  for (std::uint32_t n = 0; config_.mix.send_inv != 0 && n < traffic::kInvalidatedKeys; ++n) {
    const std::uint64_t va = traffic::kInvalidatedVa + n * std::uint64_t{4096};
    r.regions.push_back({traffic::invalidated_key(n), va, va + 64, kAll, 0, 0, true});
  }
  return r;
}

void Traffic::begin(Stream& s) {
  const auto weight_of = [&](std::uint32_t i) {
    const auto opcode = static_cast<SendOpcode>(i);
    const bool can = opcode != SendOpcode::kSendInvalidate || next_invalidated_ < traffic::kInvalidatedKeys;
    return can && is_legal(opcode, s.transport) ? weights_[i] : 0;
  };
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < weights_.size(); ++i) sum += weight_of(i);
  s.message = SendOpcode::kSend;
  std::uint32_t at = sum > 1 ? below(sum) : 0;
  for (std::uint32_t i = 0; sum != 0 && i < weights_.size(); ++i) {
    const std::uint32_t weight = weight_of(i);
    s.message = static_cast<SendOpcode>(i);
    if (at < weight) break;
    at -= weight;
  }
  s.bytes = config_.min_bytes;
  if (config_.max_bytes > config_.min_bytes) s.bytes += below(config_.max_bytes - config_.min_bytes + 1);
  if (s.transport == Transport::kUd) s.bytes = std::min<std::uint32_t>(s.bytes, config_.mtu);
  s.sent = 0;
  s.in_message = true;
  if (s.message == SendOpcode::kSendInvalidate) s.invalidates = traffic::invalidated_key(next_invalidated_++);
}

// What all packets share.
Headers Traffic::common() const {
  Headers h;
  h.encapsulation = config_.encapsulation;
  h.source = config_.sender;
  h.destination = config_.receiver;
  const bool local = config_.encapsulation == Encapsulation::kIbLocal;
  if (!local && config_.encapsulation != Encapsulation::kIbGlobal) {
    h.source_mac = {2, 0, 0, 0, 0, 1};
    h.destination_mac = {2, 0, 0, 0, 0, 2};
  }
  if (!local) {
    h.hop_limit = kDefaultHopLimit;
    h.traffic_class = 0x02;
  }
  h.pkey = kDefaultPkey;
  return h;
}

void Traffic::base(const Stream& s, Headers& h) const {
  h = common_;  // whole, from memory that was not just written in pieces
  if (config_.encapsulation == Encapsulation::kRoceV2Ipv4 || config_.encapsulation == Encapsulation::kRoceV2Ipv6) {
    h.udp_source_port = static_cast<std::uint16_t>(0xc000 | (raw(s.qpn) & 0x3fff));
  }
  h.destination_qp = s.qpn;
  h.psn = s.psn;
  if (s.transport == Transport::kUd) {
    h.qkey = traffic::kQkey;
    h.source_qp = Qpn{traffic::kFirstPeerQpn + (raw(s.qpn) - traffic::kFirstQpn)};
  }
  if (s.transport == Transport::kXrc) h.xrc_srq = traffic::kXrcSrq;
}

// The stream's next packet in order: its headers; returns the bytes of payload.
std::uint32_t Traffic::advance(Stream& s, Headers& h) {
  if (!s.in_message) begin(s);
  base(s, h);
  const std::uint32_t traits = request_info(s.message).traits;
  const std::uint64_t room = traffic::region_bytes(largest_message()) - s.bytes;
  if (traits & (kSend | kWrite)) return advance_message(s, h, traits, room);
  h.opcode = opcode_of(s.transport, operation_of(s.message, true, true));
  h.rkey = traffic::kDataKey;
  std::uint32_t payload = 0;
  if (traits & kAtomic) {
    h.va = traffic::kDataVa + 8ull * below(64);
    if (traits & kHasAtomicEth) {
      h.swap_add = random() >> 48;
      h.compare = below(4);
    } else {
      h.length = payload = kAtomicBytes;
    }
  } else {
    h.va = traffic::kDataVa + random() % (room + 1);
    h.length = s.bytes;
  }
  s.in_message = false;
  h.ack_request = is_reliable(s.transport);
  s.psn = s.psn + (traits & kRead ? packets_of(s.bytes, config_.mtu) : 1);
  return payload;
}

// One of the packets of a SEND or WRITE.
std::uint32_t Traffic::advance_message(Stream& s, Headers& h, std::uint32_t traits, std::uint64_t room) {
  const bool first = s.sent == 0;
  const std::uint32_t payload = std::min<std::uint32_t>(config_.mtu, s.bytes - s.sent);
  const bool last = s.sent + payload == s.bytes;
  h.opcode = opcode_of(s.transport, operation_of(s.message, first, last));
  if ((traits & kWrite) && first) {
    h.va = traffic::kDataVa + random() % (room + 1);
    h.rkey = traffic::kDataKey;
    h.length = s.bytes;
  }
  if (last && (traits & kHasImm)) h.immediate = static_cast<std::uint32_t>(s.psn.value);
  if (last && (traits & kHasIeth)) h.immediate = raw(s.invalidates);
  h.solicited = last && (traits & kHasImm);
  s.sent += payload;
  s.in_message = !last;
  h.ack_request = is_reliable(s.transport) && last;
  s.psn = s.psn + 1;
  return payload;
}

void Traffic::put_payload(std::span<std::uint8_t> out, const Headers& h, std::uint32_t bytes) {
  if (bytes == 0) return;
  std::uint8_t* p = out.data() + payload_offset_for(h);
  const std::uint32_t room = static_cast<std::uint32_t>(pattern_.size()) - bytes;
  std::memcpy(p, pattern_.data() + below(room + 1), bytes);
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  if (!config_.tag_matching || !(traits & kSend) || !(traits & (kFirst | kOnly)) || bytes < kTmhBytes) return;
  build_tmh({static_cast<std::uint8_t>(TmhOpcode::kEager), raw(h.destination_qp), next_tag_}, p);
  next_tag_ = (next_tag_ + 1) % config_.tags;
}

TrafficFrame Traffic::next(std::span<std::uint8_t> out) {
  const std::size_t i = streams_.size() > 1 ? below(static_cast<std::uint32_t>(streams_.size())) : 0;
  const Injected cause = config_.errors_per_million == 0 ? Injected::kNone : choose_cause(streams_[i]);
  TrafficFrame f;
  std::uint32_t payload = 0;
  if (cause == Injected::kNotRdma) {
    arp(out, f);
  } else {
    if (!inject_before(i, cause, f.h, payload)) {
      payload = advance(streams_[i], f.h);
      if (config_.errors_per_million != 0) {
        last_[i].h = f.h;
        last_[i].payload = payload;
        streams_[i].has_last = true;
      }
    }
    inject_header(cause, streams_[i], f.h);
    put_payload(out, f.h, payload);
    f.bytes = static_cast<std::uint32_t>(build_in_place(f.h, payload, out));
    f.injected = cause;
    inject_frame(out, f);
  }
  f.wire_bytes = f.bytes;
  time_ps_ += (f.bytes + kFrameGapBytes) * 8 * kPsPerBitAtOneGbps / (config_.gbps * config_.load);
  f.time_ps = static_cast<std::uint64_t>(time_ps_);
  if (config_.errors_per_million != 0) after(i, cause);
  return f;
}

}  // namespace rxnic
