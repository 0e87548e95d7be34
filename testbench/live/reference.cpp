// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/reference.h"

#include <algorithm>
#include <cstring>
#include <ostream>

namespace rxnic::live {

namespace {

constexpr std::size_t kGrh = 40, kMtu = 1024;

// The first `bytes` of the pieces.
Pieces head(const Pieces& of, std::size_t bytes) {
  Pieces first;
  for (const Piece& piece : of) {
    const std::size_t part = std::min(piece.bytes, bytes);
    first.push_back({piece.at, part});
    bytes -= part;
  }
  return first;
}

}  // namespace

std::size_t length_of(const Pieces& pieces) {
  std::size_t all = 0;
  for (const Piece& piece : pieces) all += piece.bytes;
  return all;
}

bool operator==(const Done& a, const Done& b) {
  if (a.wr_id != b.wr_id) return false;
  if (b.any_error) return a.status != IBV_WC_SUCCESS;
  if (a.status != b.status) return false;
  if (a.status != IBV_WC_SUCCESS) return true;
  const bool tagged = (a.flags & IBV_WC_TM_MATCH) != 0;
  return a.opcode == b.opcode && a.flags == b.flags && a.bytes == b.bytes && a.immediate == b.immediate &&
         a.invalidated == b.invalidated && (!tagged || (a.tag == b.tag && a.context == b.context));
}

std::ostream& operator<<(std::ostream& out, const Done& d) {
  return out << "wr_id " << d.wr_id << ": " << ibv_wc_status_str(d.status) << ", opcode " << d.opcode << ", flags "
             << d.flags << ", " << d.bytes << " bytes, immediate " << d.immediate << ", tag " << d.tag << '/'
             << d.context << ", window " << d.invalidated;
}

Reference::Bytes Reference::gather(const Pieces& from) const {
  Bytes bytes;
  for (const Piece& piece : from) {
    const auto at = a_.begin() + static_cast<std::ptrdiff_t>(piece.at);
    bytes.insert(bytes.end(), at, at + static_cast<std::ptrdiff_t>(piece.bytes));
  }
  return bytes;
}

void Reference::scatter(Bytes& memory, const Pieces& to, std::span<const std::uint8_t> bytes) {
  for (const Piece& piece : to) {
    const std::size_t part = std::min(piece.bytes, bytes.size());
    std::copy_n(bytes.begin(), part, memory.begin() + static_cast<std::ptrdiff_t>(piece.at));
    bytes = bytes.subspan(part);
  }
}

Done Reference::sent(const Request& r, ibv_wc_opcode opcode) {
  Done done;
  done.wr_id = r.wr_id;
  done.opcode = opcode;
  return done;
}

bool has_own_receives(Way way) { return way != Way::kSrq && way != Way::kXrc && way != Way::kTags; }

void Reference::Effect::add(const Effect& next) {
  for (std::size_t q = 0; q < kQueues; ++q) done[q].insert(done[q].end(), next.done[q].begin(), next.done[q].end());
  undefined.insert(undefined.end(), next.undefined.begin(), next.undefined.end());
  undefined_of_a.insert(undefined_of_a.end(), next.undefined_of_a.begin(), next.undefined_of_a.end());
  dropped |= next.dropped;
  fails |= next.fails;
}

Done Reference::flushed(std::uint64_t wr_id) {
  Done done;
  done.wr_id = wr_id;
  done.status = IBV_WC_WR_FLUSH_ERR;
  return done;
}

Reference::Effect Reference::carry_out(const Request& r) {
  const bool wrong_length = r.opcode == IBV_WR_ATOMIC_WRITE && length_of(r.local) != sizeof(std::uint64_t);
  if (wrong_length) return fail_at_once(r, IBV_WC_LOC_QP_OP_ERR);
  if (r.bad_lkey && length_of(r.local) > 0 && !r.inline_data) return fail_at_once(r, IBV_WC_LOC_PROT_ERR);
  switch (r.opcode) {
    case IBV_WR_RDMA_READ:
      return read(r);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return atomic(r);
    case IBV_WR_ATOMIC_WRITE:
      return atomic_write(r);
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return write(r);
    default:
      return send(r);
  }
}

std::vector<Done> Reference::fail_receiver(Way way) {
  std::vector<Done> done;
  if (!has_own_receives(way)) return done;
  for (const Receive& receive : queue(way)) done.push_back(flushed(receive.wr_id));
  queue(way).clear();
  return done;
}

// Both QPs are in error. (R3)
Reference::Effect Reference::fail(const Request& r, ibv_wc_status status, Effect effect) {
  effect.fails = true;
  Done done = sent(r, IBV_WC_SEND);
  done.status = status;
  effect.on(Queue::kSent).push_back(done);
  for (const Done& receive : fail_receiver(r.way)) effect.on(Queue::kReceived).push_back(receive);
  return effect;
}

Reference::Effect Reference::fail_at_once(const Request& r, ibv_wc_status status) {
  Effect effect;
  effect.fails = true;
  Done done = sent(r, IBV_WC_SEND);
  done.status = status;
  effect.on(Queue::kSent).push_back(done);
  return effect;
}

bool Reference::may_receive_into(Way way, const Piece& piece) {
  for (const Receive& receive : queue(way)) {
    for (const Piece& to : receive.to) {
      if (to.at < piece.at + piece.bytes && piece.at < to.at + to.bytes) return true;
    }
  }
  return false;
}

// rules 4.4, 6.3
bool Reference::permits(const Request& r, std::size_t bytes, unsigned int right) const {
  if (bytes == 0) return true;
  if (r.bad_rkey) return false;
  if (r.window < 0) return true;
  const Window& w = windows_[static_cast<std::size_t>(r.window)];
  return w.valid && (!w.way || *w.way == r.way) && (w.access & right) != 0 && r.remote >= w.of.at &&
         r.remote + bytes <= w.of.at + w.of.bytes;
}

// UD: one receive queue gets the message, or does not. rules 1.3, 6
void Reference::send_datagram(const Request& r, const Bytes& message, Way way, Queue to, Effect& effect) {
  std::deque<Receive>& receives = queue(way);
  if (receives.empty() || kGrh + message.size() > length_of(receives.front().to)) {  // an RQ keeps its receive
    effect.dropped = true;
    return;
  }
  const Receive receive = receives.front();
  receives.pop_front();
  Bytes bytes(kGrh);
  bytes.insert(bytes.end(), message.begin(), message.end());
  const bool of_a = way == Way::kGroupOfA;
  scatter(of_a ? a_ : b_, receive.to, bytes);
  for (const Piece& piece : head(receive.to, kGrh)) (of_a ? effect.undefined_of_a : effect.undefined).push_back(piece);
  Done done;
  done.wr_id = receive.wr_id;
  done.opcode = IBV_WC_RECV;
  done.bytes = static_cast<std::uint32_t>(bytes.size());
  done.flags = IBV_WC_GRH;
  done.is_solicited = r.solicited;
  if (r.opcode == IBV_WR_SEND_WITH_IMM) {
    done.flags |= IBV_WC_WITH_IMM;
    done.immediate = r.immediate;
  }
  effect.on(to).push_back(done);
}

// rules 6.6
bool Reference::invalidate(const Request& r) {
  if (r.invalidates < 0) return false;
  Window& w = windows_[static_cast<std::size_t>(r.invalidates)];
  const bool good = w.valid && w.way && *w.way == r.way;
  if (good) w.valid = false;
  return good;
}

Reference::Effect Reference::send(const Request& r) {
  const Bytes message = payload_of(r);
  if (r.way == Way::kTags) return send_tagged(r, message);
  Effect effect;
  if (r.way == Way::kUd || r.way == Way::kGroup) {
    send_datagram(r, message, r.way, Queue::kReceived, effect);
    if (r.way == Way::kGroup) {
      send_datagram(r, message, Way::kGroup2, Queue::kGroup2, effect);
      send_datagram(r, message, Way::kGroupOfA, Queue::kGroupOfA, effect);
    }
    if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_SEND));
    return effect;
  }
  std::deque<Receive>& receives = queue(r.way);
  const bool fits = !receives.empty() && message.size() <= length_of(receives.front().to);
  if (!reliable(r.way) && !fits) {  // rules 6: UC drops it, and an RQ keeps its receive
    effect.dropped = true;
    // Its first packets may have been written.
    if (!receives.empty()) effect.undefined = receives.front().to;
    if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_SEND));
    return effect;
  }
  if (receives.empty()) {
    effect.waits = true;
    return effect;
  }
  const Receive receive = receives.front();
  receives.pop_front();
  Done done;
  done.wr_id = receive.wr_id;
  if (!fits) {
    done.status = IBV_WC_LOC_LEN_ERR;
    effect.on(Queue::kReceived).push_back(done);
    effect.undefined = receive.to;
    return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
  }
  scatter(b_, receive.to, message);
  done.opcode = IBV_WC_RECV;
  done.bytes = static_cast<std::uint32_t>(message.size());
  done.is_solicited = r.solicited;
  if (r.opcode == IBV_WR_SEND_WITH_IMM) {
    done.flags |= IBV_WC_WITH_IMM;
    done.immediate = r.immediate;
  }
  if (r.opcode == IBV_WR_SEND_WITH_INV) {
    if (!invalidate(r)) {  // nobody acknowledges it
      done.status = IBV_WC_REM_INV_REQ_ERR;
      effect.on(Queue::kReceived).push_back(done);
      effect.undefined = receive.to;
      return fail(r, IBV_WC_RETRY_EXC_ERR, effect);
    }
    done.flags |= IBV_WC_WITH_INV;
    done.invalidated = r.invalidates;
  }
  effect.on(Queue::kReceived).push_back(done);
  if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_SEND));
  return effect;
}

Reference::Effect Reference::write(const Request& r) {
  const Bytes message = payload_of(r);
  Effect effect;
  const bool immediate = r.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  std::deque<Receive>& receives = queue(r.way);
  const bool one_packet = message.size() <= kMtu;
  const bool refused = !permits(r, message.size(), IBV_ACCESS_REMOTE_WRITE);
  if (refused && !reliable(r.way)) {  // rules 6: dropped
    effect.dropped = true;
    if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_RDMA_WRITE));
    return effect;
  }
  // The key is checked with the first packet, and after the receive that this packet takes.
  if (refused && (!immediate || !one_packet)) return fail(r, IBV_WC_REM_ACCESS_ERR);
  if (refused && !receives.empty()) {
    Done failed = flushed(receives.front().wr_id);
    failed.any_error = true;
    receives.pop_front();
    effect.on(Queue::kReceived).push_back(failed);
    return fail(r, IBV_WC_REM_ACCESS_ERR, effect);
  }
  if (immediate && receives.empty()) {
    // The packets of a UC message before the last one have been written.
    effect.dropped = !reliable(r.way);
    effect.waits = reliable(r.way);
    effect.undefined = {{r.remote, message.size()}};
    if (effect.dropped && r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_RDMA_WRITE));
    return effect;
  }
  scatter(b_, {{r.remote, message.size()}}, message);
  if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_RDMA_WRITE));
  effect.dropped = !immediate;  // B is not told
  if (!immediate) return effect;
  Done done;
  done.wr_id = receives.front().wr_id;
  receives.pop_front();
  done.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  done.flags = IBV_WC_WITH_IMM;
  done.bytes = static_cast<std::uint32_t>(message.size());
  done.immediate = r.immediate;
  done.is_solicited = r.solicited;
  effect.on(Queue::kReceived).push_back(done);
  return effect;
}

Reference::Effect Reference::read(const Request& r) {
  const std::size_t bytes = length_of(r.local);
  if (!permits(r, bytes, IBV_ACCESS_REMOTE_READ)) return fail(r, IBV_WC_REM_ACCESS_ERR);
  Effect effect;
  scatter(a_, r.local, std::span(b_).subspan(r.remote, bytes));
  if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_RDMA_READ));
  return effect;
}

Reference::Effect Reference::atomic(const Request& r) {
  if (r.remote % 8 != 0) return fail(r, IBV_WC_REM_INV_REQ_ERR);
  if (!permits(r, 8, IBV_ACCESS_REMOTE_ATOMIC)) return fail(r, IBV_WC_REM_ACCESS_ERR);
  Effect effect;
  std::uint64_t value = 0;
  std::memcpy(&value, &b_[r.remote], sizeof value);
  scatter(a_, r.local, {reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
  const bool adds = r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  if (adds) value += r.compare_add;
  if (!adds && value == r.compare_add) value = r.swap;
  std::memcpy(&b_[r.remote], &value, sizeof value);
  if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, adds ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP));
  return effect;
}

Reference::Effect Reference::atomic_write(const Request& r) {
  if (r.remote % 8 != 0) return fail(r, IBV_WC_REM_INV_REQ_ERR);
  if (!permits(r, 8, IBV_ACCESS_REMOTE_WRITE)) return fail(r, IBV_WC_REM_ACCESS_ERR);
  Effect effect;
  scatter(b_, {{r.remote, 8}}, payload_of(r));
  if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_ATOMIC_WRITE));
  return effect;
}

}  // namespace rxnic::live
