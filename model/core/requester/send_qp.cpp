// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/send_qp.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/core/wire/ecn.h"
#include "model/core/wire/ip_offload.h"

namespace rxnic {

namespace {

// The ring; of a QP without one the numbers of its own WQEs, one of each rendezvous at a time. (R8)
SendQueueContext ring_of(const SendQueueContext& queue, const SendState& port) {
  SendQueueContext ring = queue;
  if (ring.slots == 0) ring.slots = std::bit_ceil(port.rendezvous.size());
  return ring;
}

}  // namespace

SendQp::SendQp(const SendQpContext& context, const RequesterParams& params, SendState& port)
    : params_(params),
      port_(port),
      context_(context),
      own_(context.queue.slots == 0),
      ring_(ring_of(context.queue, port), params.wqes_per_read) {
  configure(context);
  queue_.restart(Psn{context.sq_psn});
}

void SendQp::configure(const SendQpContext& context) {
  const QpState before = context_.qp.state;
  context_ = context;
  context_.queue = ring_.context();
  if (failed_ && !recovers_at_) context_.qp.state = before;
  SendQueueLimits limits;
  limits.mtu = context.qp.mtu;
  limits.reliable = reliable();
  limits.window = params_.window_packets;
  limits.ack_every = params_.ack_every_packets;
  limits.max_rd_atomic = context.max_rd_atomic;
  limits.retry_count = context.retry_count;
  limits.rnr_retry = context.rnr_retry;
  queue_.set_limits(limits);
  set_path(context.path, context.qp.remote_qpn);
}

void SendQp::set_path(const AddressVector& path, Qpn remote) {
  const std::size_t gid = path.source_gid_index;
  path_ = gid < port_.gids.size() ? path_headers(path, port_.gids[gid], port_.mac, qpn(), remote) : Headers{};
  const bool is_ip =
      path_.encapsulation == Encapsulation::kRoceV2Ipv4 || path_.encapsulation == Encapsulation::kRoceV2Ipv6;
  const bool capable = params_.dcqcn && is_ip && context_.qp.transport != Transport::kUd;
  if (capable && (path_.traffic_class & kEcnMask) == 0) path_.traffic_class |= kEct0;  // (R7)
}

void SendQp::recover() {
  if (failed_ && context_.qp.state == QpState::kSqe) recovers_at_ = ring_.producer();
}

bool SendQp::resume() {
  if (!recovers_at_ || next_completion_ != *recovers_at_) return false;
  ring_.pass(*recovers_at_);
  recovers_at_.reset();
  failed_ = has_wqe_ = false;
  return true;
}

void SendQp::reset() {
  context_.qp.state = QpState::kReset;
  ring_.reset();
  release_own();
  queue_.restart(queue_.next_psn());
  has_wqe_ = stopped_ = failed_ = false;
  recovers_at_.reset();
  local_.reset();
  wqe_ = {};
  next_completion_ = 0;
}

void SendQp::post(std::uint32_t producer, Cycle rung, std::uint32_t wqe_bytes) {
  if (own_ || context_.qp.state == QpState::kReset) return;
  const bool idle = context_.qp.state == QpState::kRts && !stopped_ && !ring_.posted() && !queue_.unsent();
  const bool alone = idle && producer - ring_.producer() == 1;
  if (!ring_.ring(producer, oldest(), rung)) {  // (R5)
    if (!failed_ && ring_.ring(ring_.producer() + 1, oldest(), rung)) {
      stop_at(ring_.producer() - 1, WcStatus::kLocalQpOperation);
    }
    return;
  }
  if (alone && wqe_bytes > 0 && bytes_of_next() <= wqe_bytes) ring_.fetched(1);  // (R6)
}

// Bytes of the WQE that was posted last; no bytes came of a WQE that cannot be read.
std::uint64_t SendQp::bytes_of_next() {
  const auto slot = ring_.slot(ring_.next(), port_.memory);
  SendControl control;
  if (slot.size() < sizeof control) return ~std::uint64_t{0};
  std::memcpy(&control, slot.data(), sizeof control);
  return send_wqe_bytes(control);
}

std::uint32_t SendQp::wqes_to_read() const {  // (R6)
  const bool reads = !failed_ && !stopped_ && context_.qp.state == QpState::kRts && ring_.posted() && !ring_.here();
  return reads ? ring_.one_read() : 0;
}

bool SendQp::has_packet() {
  const QpState state = context_.qp.state;
  if (failed_ || (state != QpState::kRts && state != QpState::kSqd)) return false;  // (R1)
  if (queue_.unsent()) return queue_.has_packet() && !(stopped_ && is_stopped(queue_.current().wqe));
  if (state != QpState::kRts || stopped_ || local_ || !ring_.here() || !load(ring_.next())) return false;
  if (is_local(wqe_.opcode)) return false;
  return queue_.hold(wqe_.opcode, wqe_.flags, wqe_.bytes) == SendHold::kNone;
}

// (R9)

bool SendQp::has_window_request() {
  if (failed_ || stopped_ || local_ || context_.qp.state != QpState::kRts || !queue_.empty() || !ring_.here()) {
    return false;
  }
  return load(ring_.next()) && is_local(wqe_.opcode);
}

WindowRequest SendQp::begin_window_request() {
  const WindowSegment& w = wqe_.window;
  WindowRequest r;
  r.qpn = qpn();
  r.pd = context_.qp.pd;
  r.key = Key{wqe_.immediate};
  if (wqe_.opcode == SendOpcode::kBindWindow) {
    r = {WindowOperation::kBind, r.qpn, r.pd, r.key, Key{w.region}, w.access, w.va, w.length};
  } else {
    r.operation = WindowOperation::kInvalidate;
  }
  local_ = take_next();
  return r;
}

// The WQE that has ended.
SendRequest SendQp::end_window_request(bool ok) {
  const SendRequest request = *local_;
  if (ok) {
    local_.reset();
  } else {
    stop_at(request.wqe, WcStatus::kWindowBind);
  }
  return request;
}

// Loads the WQE of that number into wqe_; false: it cannot be carried out.
bool SendQp::load(std::uint32_t wqe) {  // (R2)
  if (has_wqe_ && loaded_ == wqe) return true;
  has_wqe_ = false;
  const WcStatus status = own_ ? compose(wqe) : parse(wqe);
  if (status != WcStatus::kSuccess) {
    stop_at(wqe, status);
    return false;
  }
  loaded_ = wqe;
  return has_wqe_ = true;
}

WcStatus SendQp::parse(std::uint32_t wqe) {
  const auto bytes = ring_.slot(wqe, port_.memory);
  if (bytes.empty()) return WcStatus::kLocalQpOperation;
  const WcStatus status = parse_send_wqe(bytes, context_.qp.transport, context_.qp.mtu, wqe_, params_.max_tso_bytes);
  return status == WcStatus::kSuccess ? check(context_.qp.pd) : status;
}

WcStatus SendQp::check(Pdn pd) {
  on_demand_ = false;
  if (is_local(wqe_.opcode)) return WcStatus::kSuccess;
  if (context_.qp.transport == Transport::kUd) set_path(wqe_.address, Qpn{wqe_.remote_qpn});
  const bool data = has(wqe_.opcode, kReturnsData);
  const bool has_path = path_.encapsulation != Encapsulation::kNone || context_.qp.transport == Transport::kRaw;
  if (!has_path || (has(wqe_.opcode, kSaved) && context_.max_rd_atomic == 0)) return WcStatus::kLocalQpOperation;
  if (wqe_.inline_data != nullptr) return WcStatus::kSuccess;
  const std::uint8_t access = data ? kLocalWrite : 0;
  return port_.locator.check(wqe_.segments(), pd, access, on_demand_) ? WcStatus::kSuccess : WcStatus::kLocalProtection;
}

// WQE ring_.next(), which is loaded, is begun.
SendRequest SendQp::take_next() {
  SendRequest r;
  r.wqe = ring_.next();
  r.opcode = wqe_.opcode;
  r.flags = wqe_.flags;
  r.bytes = wqe_.bytes;
  r.immediate = wqe_.immediate;
  r.remote_srqn = wqe_.remote_srqn;
  r.mss = wqe_.mss;
  r.remote = wqe_.remote;
  r.posted = own_ ? own_wqe(r.wqe).posted : ring_.rung();
  ring_.take();
  return r;
}

// (R10)

std::optional<MissingPage> SendQp::missing_page() {
  const bool begun = queue_.unsent();
  if (begun && has(queue_.current().opcode, kReturnsData)) return {};  // its WQE is not read again (R2)
  if (!load(next_wqe()) || !on_demand_ || wqe_.inline_data != nullptr || has(wqe_.opcode, kReturnsData)) return {};
  const std::uint64_t offset = begun ? queue_.packet().offset : 0;
  if (offset >= wqe_.bytes) return {};
  const std::uint32_t most = wqe_.mss != 0 ? wqe_.mss : context_.qp.mtu;
  const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, wqe_.bytes - offset));
  return port_.locator.missing(wqe_.segments(), context_.qp.pd, offset, bytes);
}

void SendQp::refuse_page(std::uint32_t wqe) {
  if (!failed_ && static_cast<std::int32_t>(wqe - oldest()) >= 0) stop_at(wqe, WcStatus::kLocalProtection);
}

bool SendQp::make_packet(RequestPacket& packet, Payload& payload) {
  if (!queue_.unsent()) queue_.begin(take_next());
  packet = queue_.packet();
  payload.in_wqe = {};
  payload.zeros = 0;
  payload.bytes = has(queue_.current().opcode, kReturnsData) ? 0 : packet.bytes;
  payload.pieces.clear();
  return (payload.bytes == 0 && queue_.current().mss == 0) || find_payload(packet, payload);
}

bool SendQp::find_payload(const RequestPacket& packet, Payload& payload) {
  const SendRequest& r = queue_.current();
  if (!load(r.wqe)) return false;
  if (wqe_.bytes != r.bytes || wqe_.opcode != r.opcode || wqe_.mss != r.mss) {  // (R3)
    stop_at(r.wqe, WcStatus::kLocalQpOperation);
    return false;
  }
  if (wqe_.inline_data != nullptr) {
    payload.in_wqe = {wqe_.inline_data + packet.offset, packet.bytes};
    return true;
  }
  payload.in_wqe = wqe_.header;  // (R12)
  payload.bytes += static_cast<std::uint32_t>(wqe_.header.size());
  if (!port_.locator.locate(wqe_.segments(), context_.qp.pd, packet.offset, packet.bytes, payload.pieces)) {
    stop_at(r.wqe, WcStatus::kLocalProtection);
    return false;
  }
  std::uint32_t in_memory = 0;
  for (const MemoryPiece& piece : payload.pieces) in_memory += piece.bytes;
  payload.zeros = packet.bytes - in_memory;
  return true;
}

// What no read of memory brings: data of the WQE, zeros of null regions. The pieces are written over the others.
void SendQp::write_known(const Payload& payload, std::uint8_t* to) {
  if (payload.zeros > 0) std::memset(to, 0, payload.bytes);
  if (!payload.in_wqe.empty()) std::memcpy(to, payload.in_wqe.data(), payload.in_wqe.size());
}

std::size_t SendQp::write_frame(const RequestPacket& packet, const Payload& payload, Packet& p) const {
  const SendRequest& r = queue_.current();
  p.posted = r.posted;
  const IpSegment segment{packet.number, packet.offset, packet.bytes, packet.last};
  const std::size_t in_wqe = payload.in_wqe.size();
  if (context_.qp.transport == Transport::kRaw) {
    write_raw_frame(payload, p);
    if (r.mss != 0) set_segment_header(p.frame.first(in_wqe), IpFraming::kEthernet, segment);
    return in_wqe;
  }
  p.h = path_;
  if (context_.qp.transport == Transport::kUd) set_datagram_headers(p.h, context_.qp, wqe_);
  set_request_headers(p.h, context_.qp, r, packet);
  const std::size_t at = payload_offset_for(p.h);
  write_known(payload, p.frame.data() + at);
  p.frame_bytes = static_cast<std::uint32_t>(build_in_place(p.h, payload.bytes, p.frame));
  p.link = p.h.link;
  p.destination = p.h.destination;
  if (r.mss != 0) set_segment_header(p.frame.subspan(at, in_wqe), IpFraming::kIpoib, segment);
  return at + in_wqe;
}

void SendQp::write_raw_frame(const Payload& payload, Packet& p) {  // (R11)
  write_known(payload, p.frame.data());
  p.frame_bytes = std::max(payload.bytes, kMinFrameBytes);
  std::fill(p.frame.begin() + payload.bytes, p.frame.begin() + p.frame_bytes, std::uint8_t{0});
  p.h = {};
  p.link = LinkLayer::kEthernet;
  p.destination = {};
}

void SendQp::lose(std::uint32_t wqe) {
  if (reliable()) {
    stop_at(wqe, WcStatus::kLocalProtection);
  } else {
    fail_from(wqe, WcStatus::kLocalProtection);
  }
}

RequestNotice SendQp::notice() const {
  const SendRequest& r = queue_.current();
  RequestNotice n;
  n.qpn = qpn();
  n.first_psn = r.first_psn;
  n.psn_count = r.psn_count;
  n.opcode = completion_opcode(r.opcode);
  n.signaled = signaled(r.flags);
  n.wqe = r.wqe;
  n.wqe_index = own_ ? handle_of(own_wqe(r.wqe)) : ring_.slot_index(r.wqe);
  n.rendezvous = own_ && !own_wqe(r.wqe).finish;
  n.bytes = r.bytes;
  if (has(r.opcode, kReturnsData) && wqe_.sge_count > 0) {
    n.va = wqe_.sge[0].address;
    n.lkey = Key{wqe_.sge[0].lkey};
  }
  return n;
}

void SendQp::stop_at(std::uint32_t wqe, WcStatus status) {  // (R3)
  if (stopped_ && is_stopped(wqe)) return;
  stopped_ = true;
  stop_wqe_ = wqe;
  stop_status_ = status;
}

void SendQp::fail(WcStatus status) {
  if (!failed_) fail_from(own_ ? first_own_ : oldest(), status);
  if (status == WcStatus::kFlushed) {
    context_.qp.state = QpState::kError;
    recovers_at_.reset();
  }
}

void SendQp::fail_from(std::uint32_t wqe, WcStatus status) {  // (R4)
  next_completion_ = wqe;
  local_.reset();
  failed_ = true;
  stopped_ = false;
  fail_status_ = status;
  context_.qp.state = reliable() || status == WcStatus::kFlushed ? QpState::kError : QpState::kSqe;
  queue_.restart(queue_.next_psn());
}

SendCompletion SendQp::take_flush() {
  const std::uint32_t wqe = next_completion_++;
  SendCompletion c{qpn(), wqe, ring_.slot_index(wqe), 0, CqeOpcode::kSend, fail_status_};
  fail_status_ = WcStatus::kFlushed;
  if (own_) {
    const OwnWqe& own = own_wqes_.front();
    if (!own.finish) c.opcode = CqeOpcode::kRdmaRead;
    c.wqe_index = handle_of(own);
    c.rendezvous = true;
    drop_own();
    return c;
  }
  const auto bytes = ring_.slot(wqe, port_.memory);
  if (!bytes.empty()) c.opcode = completion_opcode(static_cast<SendOpcode>(bytes[0]));
  return c;
}

SendCompletion SendQp::success(const SendRequest& r) const {
  return {qpn(), r.wqe, ring_.slot_index(r.wqe), r.bytes, completion_opcode(r.opcode), WcStatus::kSuccess};
}

}  // namespace rxnic
