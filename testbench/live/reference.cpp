// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/reference.h"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <ostream>

namespace rxnic::live {

namespace {

constexpr std::size_t kGrh = 40, kTmh = 16, kRvh = 16, kMostRequest = 64, kMtu = 1024;
constexpr int kNoTag = 0, kRendezvous = 1, kFin = 2, kEager = 3;  // rules 5.1

std::uint32_t be32(const std::uint8_t* at) {
  std::uint32_t v = 0;
  std::memcpy(&v, at, sizeof v);
  return be32toh(v);
}
std::uint64_t be64(const std::uint8_t* at) {
  std::uint64_t v = 0;
  std::memcpy(&v, at, sizeof v);
  return be64toh(v);
}

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
         (!tagged || (a.tag == b.tag && a.context == b.context));
}

std::ostream& operator<<(std::ostream& out, const Done& d) {
  return out << "wr_id " << d.wr_id << ": " << ibv_wc_status_str(d.status) << ", opcode " << d.opcode << ", flags "
             << d.flags << ", " << d.bytes << " bytes, immediate " << d.immediate << ", tag " << d.tag << '/'
             << d.context;
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

Reference::Effect Reference::carry_out(const Request& r) {
  switch (r.opcode) {
    case IBV_WR_RDMA_READ:
      return read(r);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return atomic(r);
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return write(r);
    default:
      return send(r);
  }
}

// Both QPs are in error: A's request has the status, the receives of B's RQ are flushed. (R3)
Reference::Effect Reference::fail(const Request& r, ibv_wc_status status, Effect effect) {
  effect.fails = true;
  Done done = sent(r, IBV_WC_SEND);
  done.status = status;
  effect.sent.push_back(done);
  if (r.way != Way::kRc && r.way != Way::kUc && r.way != Way::kUd) return effect;
  for (const Receive& receive : receives_[r.way]) {
    Done flushed;
    flushed.wr_id = receive.wr_id;
    flushed.status = IBV_WC_WR_FLUSH_ERR;
    effect.received.push_back(flushed);
  }
  receives_[r.way].clear();
  return effect;
}

Reference::Effect Reference::send(const Request& r) {
  const Bytes message = gather(r.local);
  if (r.way == Way::kTags) return send_tagged(r, message);
  Effect effect;
  std::deque<Receive>& queue = receives_[r.way];
  const std::size_t header = r.way == Way::kUd ? kGrh : 0;
  const bool fits = !queue.empty() && header + message.size() <= length_of(queue.front().to);
  if (!reliable(r.way) && !fits) {  // rules 6: UC and UD drop it, and an RQ keeps its receive
    effect.dropped = true;
    // Its first packets may have been written.
    if (r.way == Way::kUc && !queue.empty()) effect.undefined = queue.front().to;
    if (r.signaled) effect.sent.push_back(sent(r, IBV_WC_SEND));
    return effect;
  }
  if (queue.empty()) {
    effect.waits = true;
    return effect;
  }
  const Receive receive = queue.front();
  queue.pop_front();
  Done done;
  done.wr_id = receive.wr_id;
  if (!fits) {
    done.status = IBV_WC_LOC_LEN_ERR;
    effect.received.push_back(done);
    effect.undefined = receive.to;
    return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
  }
  Bytes bytes(header);
  bytes.insert(bytes.end(), message.begin(), message.end());
  scatter(b_, receive.to, bytes);
  effect.undefined = head(receive.to, header);
  done.opcode = IBV_WC_RECV;
  done.bytes = static_cast<std::uint32_t>(bytes.size());
  if (header > 0) done.flags |= IBV_WC_GRH;
  if (r.opcode == IBV_WR_SEND_WITH_IMM) {
    done.flags |= IBV_WC_WITH_IMM;
    done.immediate = r.immediate;
  }
  effect.received.push_back(done);
  if (r.signaled) effect.sent.push_back(sent(r, IBV_WC_SEND));
  return effect;
}

Reference::Effect Reference::send_tagged(const Request& r, const Bytes& message) {  // rules 5
  Effect effect;
  const bool has_tmh = message.size() >= kTmh;
  const int opcode = has_tmh ? message[0] : kNoTag;
  const std::uint64_t tag = has_tmh ? be64(&message[8]) : 0;
  const bool asks = opcode == kRendezvous && message.size() >= kTmh + kRvh && message.size() <= kMostRequest;
  auto match = tags_.end();
  if (opcode == kEager || asks) {
    match = std::find_if(tags_.begin(), tags_.end(), [&](const Tag& t) { return !t.held && (tag & t.mask) == t.tag; });
  }
  if (match != tags_.end()) {
    const Tag entry = *match;
    tags_.erase(match);
    if (asks) return rendezvous(r, message, entry);
    Done done;
    done.wr_id = entry.wr_id;
    const std::size_t bytes = message.size() - kTmh;
    if (bytes > entry.to.bytes) {
      done.status = IBV_WC_LOC_LEN_ERR;
      // Of several packets the first one has matched before it is seen that there are too many.
      if (message.size() > kMtu) {
        Done first = done;
        first.status = IBV_WC_SUCCESS;
        first.opcode = IBV_WC_TM_RECV;
        first.flags = IBV_WC_TM_MATCH;
        first.tag = tag;
        first.context = be32(&message[4]);
        if (entry.to.bytes >= kMtu - kTmh) effect.received.push_back(first);
      }
      effect.received.push_back(done);
      effect.undefined = {entry.to};
      return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
    }
    scatter(b_, {entry.to}, std::span(message).subspan(kTmh));
    done.opcode = IBV_WC_TM_RECV;
    done.flags = IBV_WC_TM_MATCH;
    done.tag = tag;
    done.context = be32(&message[4]);
    if (message.size() > kMtu) {  // several packets
      effect.received.push_back(done);
      done.flags = 0;
    }
    done.flags |= IBV_WC_TM_DATA_VALID;
    done.bytes = static_cast<std::uint32_t>(bytes);
    effect.received.push_back(done);
    effect.sent.push_back(sent(r, IBV_WC_SEND));
    return effect;
  }
  std::deque<Receive>& queue = receives_[Way::kTags];
  if (queue.empty()) {
    effect.waits = true;
    return effect;
  }
  const Receive receive = queue.front();
  queue.pop_front();
  if (opcode == kEager || opcode == kRendezvous) ++unexpected_;
  Done done;
  done.wr_id = receive.wr_id;
  if (message.size() > length_of(receive.to)) {
    done.status = IBV_WC_LOC_LEN_ERR;
    effect.received.push_back(done);
    effect.undefined = receive.to;
    return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
  }
  scatter(b_, receive.to, message);
  done.opcode = opcode == kEager || opcode == kRendezvous ? IBV_WC_TM_RECV
                : opcode == kFin                          ? IBV_WC_RECV
                                                          : IBV_WC_TM_NO_TAG;
  done.bytes = static_cast<std::uint32_t>(message.size());
  effect.received.push_back(done);
  effect.sent.push_back(sent(r, IBV_WC_SEND));
  return effect;
}

Reference::Effect Reference::rendezvous(const Request& r, const Bytes& message, const Tag& tag) {
  Effect effect;
  const std::size_t from = static_cast<std::size_t>(be64(&message[kTmh]) - base_);
  const std::uint32_t bytes = be32(&message[kTmh + 12]);
  Done done;
  done.wr_id = tag.wr_id;
  if (bytes > tag.to.bytes && message.size() > tag.to.bytes) {  // not even the request fits
    done.status = IBV_WC_LOC_LEN_ERR;
    effect.received.push_back(done);
    effect.undefined = {tag.to};
    return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
  }
  effect.sent.push_back(sent(r, IBV_WC_SEND));
  if (bytes > tag.to.bytes) {
    scatter(b_, {tag.to}, message);
    done.status = IBV_WC_TM_RNDV_INCOMPLETE;
    effect.received.push_back(done);
    return effect;
  }
  done.opcode = IBV_WC_TM_RECV;
  done.flags = IBV_WC_TM_MATCH;
  done.tag = be64(&message[8]);
  done.context = be32(&message[4]);
  effect.received.push_back(done);
  done.flags = IBV_WC_TM_DATA_VALID;
  done.bytes = bytes;
  effect.received.push_back(done);
  scatter(b_, {tag.to}, gather({{from, bytes}}));
  const Receive receive = fins_.front();
  fins_.pop_front();
  Bytes fin(message.begin(), message.begin() + kTmh + kRvh);
  fin[0] = kFin;
  scatter(a_, receive.to, fin);
  Done finished;
  finished.wr_id = receive.wr_id;
  finished.opcode = IBV_WC_RECV;
  finished.bytes = static_cast<std::uint32_t>(fin.size());
  effect.finished.push_back(finished);
  return effect;
}

Reference::Effect Reference::write(const Request& r) {
  const Bytes message = gather(r.local);
  Effect effect;
  const bool immediate = r.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  std::deque<Receive>& queue = receives_[r.way];
  const bool one_packet = message.size() <= kMtu;
  // The key is checked with the first packet, and after the receive that this packet takes.
  if (r.bad_rkey && !message.empty() && (!immediate || !one_packet)) return fail(r, IBV_WC_REM_ACCESS_ERR);
  if (r.bad_rkey && !message.empty() && !queue.empty()) {
    Done flushed;
    flushed.wr_id = queue.front().wr_id;
    flushed.any_error = true;
    queue.pop_front();
    effect.received.push_back(flushed);
    return fail(r, IBV_WC_REM_ACCESS_ERR, effect);
  }
  if (immediate && queue.empty()) {
    // Of a UC message the packets before the last one have been written.
    effect.dropped = !reliable(r.way);
    effect.waits = reliable(r.way);
    effect.undefined = {{r.remote, message.size()}};
    if (effect.dropped && r.signaled) effect.sent.push_back(sent(r, IBV_WC_RDMA_WRITE));
    return effect;
  }
  scatter(b_, {{r.remote, message.size()}}, message);
  if (r.signaled) effect.sent.push_back(sent(r, IBV_WC_RDMA_WRITE));
  effect.dropped = !immediate;  // B is not told
  if (!immediate) return effect;
  Done done;
  done.wr_id = queue.front().wr_id;
  queue.pop_front();
  done.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  done.flags = IBV_WC_WITH_IMM;
  done.bytes = static_cast<std::uint32_t>(message.size());
  done.immediate = r.immediate;
  effect.received.push_back(done);
  return effect;
}

Reference::Effect Reference::read(const Request& r) {
  const std::size_t bytes = length_of(r.local);
  if (r.bad_rkey && bytes > 0) return fail(r, IBV_WC_REM_ACCESS_ERR);
  Effect effect;
  scatter(a_, r.local, std::span(b_).subspan(r.remote, bytes));
  if (r.signaled) effect.sent.push_back(sent(r, IBV_WC_RDMA_READ));
  return effect;
}

Reference::Effect Reference::atomic(const Request& r) {
  if (r.remote % 8 != 0) return fail(r, IBV_WC_REM_INV_REQ_ERR);
  if (r.bad_rkey) return fail(r, IBV_WC_REM_ACCESS_ERR);
  Effect effect;
  std::uint64_t value = 0;
  std::memcpy(&value, &b_[r.remote], sizeof value);
  scatter(a_, r.local, {reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
  const bool adds = r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  if (adds) value += r.compare_add;
  if (!adds && value == r.compare_add) value = r.swap;
  std::memcpy(&b_[r.remote], &value, sizeof value);
  if (r.signaled) effect.sent.push_back(sent(r, adds ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP));
  return effect;
}

std::vector<Done> Reference::operate(const TagOp& op) {  // rules 5.4, 5.5
  bool good = true;
  if (op.opcode == IBV_WR_TAG_DEL) {
    const auto at = std::find_if(tags_.begin(), tags_.end(), [&](const Tag& t) { return t.entry == op.entry; });
    good = at != tags_.end();
    if (good) tags_.erase(at);
  }
  if (op.sync) acknowledged_ = op.unexpected;
  if (op.opcode == IBV_WR_TAG_ADD) {
    tags_.push_back({op.entry, op.recv_wr_id, op.tag, op.mask, op.to, !in_phase()});
  }
  if (in_phase()) {
    for (Tag& tag : tags_) tag.held = false;
  }
  if (good && !op.signaled) return {};
  Done done;
  done.wr_id = op.wr_id;
  done.status = good ? IBV_WC_SUCCESS : IBV_WC_TM_ERR;
  done.opcode = op.opcode == IBV_WR_TAG_ADD   ? IBV_WC_TM_ADD
                : op.opcode == IBV_WR_TAG_DEL ? IBV_WC_TM_DEL
                                              : IBV_WC_TM_SYNC;
  if (!in_phase()) done.flags = IBV_WC_TM_SYNC_REQ;
  return {done};
}

}  // namespace rxnic::live
