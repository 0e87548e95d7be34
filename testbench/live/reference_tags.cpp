// SPDX-License-Identifier: Apache-2.0
// Tag matching of the reference (rules 5).
#include <endian.h>

#include <algorithm>
#include <cstring>

#include "testbench/live/reference.h"

namespace rxnic::live {

namespace {

constexpr std::size_t kTmh = 16, kRvh = 16, kMostRequest = 64, kMtu = 1024;
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

}  // namespace

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
      // The first of several packets has matched before it is seen that there are too many.
      if (message.size() > kMtu) {
        Done first = done;
        first.status = IBV_WC_SUCCESS;
        first.opcode = IBV_WC_TM_RECV;
        first.flags = IBV_WC_TM_MATCH;
        first.tag = tag;
        first.context = be32(&message[4]);
        if (entry.to.bytes >= kMtu - kTmh) effect.on(Queue::kReceived).push_back(first);
      }
      effect.on(Queue::kReceived).push_back(done);
      effect.undefined = {entry.to};
      return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
    }
    scatter(b_, {entry.to}, std::span(message).subspan(kTmh));
    done.opcode = IBV_WC_TM_RECV;
    done.flags = IBV_WC_TM_MATCH;
    done.tag = tag;
    done.context = be32(&message[4]);
    if (message.size() > kMtu) {  // several packets
      effect.on(Queue::kReceived).push_back(done);
      done.flags = 0;
    }
    done.flags |= IBV_WC_TM_DATA_VALID;
    done.bytes = static_cast<std::uint32_t>(bytes);
    effect.on(Queue::kReceived).push_back(done);
    if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_SEND));
    return effect;
  }
  std::deque<Receive>& receives = queue(Way::kTags);
  if (receives.empty()) {
    effect.waits = true;
    return effect;
  }
  const Receive receive = receives.front();
  receives.pop_front();
  if (opcode == kEager || opcode == kRendezvous) ++unexpected_;
  Done done;
  done.wr_id = receive.wr_id;
  if (message.size() > length_of(receive.to)) {
    done.status = IBV_WC_LOC_LEN_ERR;
    effect.on(Queue::kReceived).push_back(done);
    effect.undefined = receive.to;
    return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
  }
  scatter(b_, receive.to, message);
  done.opcode = opcode == kEager || opcode == kRendezvous ? IBV_WC_TM_RECV
                : opcode == kFin                          ? IBV_WC_RECV
                                                          : IBV_WC_TM_NO_TAG;
  done.bytes = static_cast<std::uint32_t>(message.size());
  effect.on(Queue::kReceived).push_back(done);
  if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_SEND));
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
    effect.on(Queue::kReceived).push_back(done);
    effect.undefined = {tag.to};
    return fail(r, IBV_WC_REM_INV_REQ_ERR, effect);
  }
  if (r.signaled) effect.on(Queue::kSent).push_back(sent(r, IBV_WC_SEND));
  if (bytes > tag.to.bytes) {
    scatter(b_, {tag.to}, message);
    done.status = IBV_WC_TM_RNDV_INCOMPLETE;
    effect.on(Queue::kReceived).push_back(done);
    return effect;
  }
  done.opcode = IBV_WC_TM_RECV;
  done.flags = IBV_WC_TM_MATCH;
  done.tag = be64(&message[8]);
  done.context = be32(&message[4]);
  effect.on(Queue::kReceived).push_back(done);
  done.flags = IBV_WC_TM_DATA_VALID;
  done.bytes = bytes;
  effect.on(Queue::kReceived).push_back(done);
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
  effect.on(Queue::kFinished).push_back(finished);
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

bool Reference::has_entry(std::uint32_t entry) const {
  return std::any_of(tags_.begin(), tags_.end(), [&](const Tag& t) { return t.entry == entry; });
}

}  // namespace rxnic::live
