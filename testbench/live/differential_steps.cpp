// SPDX-License-Identifier: Apache-2.0
// The other steps of a random sequence: receives, windows, operations on the tag list, and its end.
#include <algorithm>
#include <cerrno>
#include <iostream>

#include "testbench/live/differential.h"

namespace rxnic::live {

Pieces Differential::pieces(std::size_t bytes, std::size_t most, std::size_t begin, std::size_t end) {
  Pieces list;
  std::size_t at = begin + below(end - begin - 2 * bytes - 64 * most), left = bytes;
  for (std::size_t n = 0; n < most && (left > 0 || list.empty()); ++n) {
    const std::size_t part = n + 1 == most ? left : below(left + 1);
    at = whole(at, part);
    list.push_back({at, part});
    at += part + below(64);
    left -= part;
  }
  return list;
}

std::size_t Differential::length() {
  const std::size_t favourites[] = {0, 1, 8, 64, 1023, 1024, 1025, 2048};
  return chance(50) ? favourites[below(std::size(favourites))] : below(3000);
}

// One call with some receives, of which one may be refused. Those of a group's members do not overlap: its datagrams
// come to them in any order.
void Differential::receive(Way way, bool long_enough) {
  const std::size_t count = chance(60) ? 1 : 1 + below(4);
  const std::size_t wrong = chance(8) ? below(count) : count;
  if (reference().posted(way) + count > 12) return;
  std::vector<Pieces> places;
  std::vector<std::vector<ibv_sge>> sges(count);
  std::vector<ibv_recv_wr> wrs(count);
  const bool of_a = way == Way::kGroupOfA;
  const std::size_t begin = way == Way::kGroup2 || of_a ? kArena / 2 : 0;
  const std::size_t end = way == Way::kGroup ? kArena / 2 : kSpace;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t most = n == wrong ? kMostSges : 1 + below(chance(80) ? 3 : kMostSges);
    places.push_back(pieces(length() + (long_enough || chance(85) ? 3040 : 0), most, begin, end));
    for (const Piece& p : places[n]) sges[n].push_back((of_a ? a_space_ : b_space_).sge(p));
    if (n == wrong) sges[n].resize(kMostSges + 1);
    wrs[n] = {++ids_, n + 1 < count ? &wrs[n + 1] : nullptr, sges[n].data(), static_cast<int>(sges[n].size())};
  }
  ibv_recv_wr* bad = nullptr;
  const bool shared = !has_own_receives(way);
  const int error =
      shared ? ibv_post_srq_recv(srq(way).get(), wrs.data(), &bad) : ibv_post_recv(receiver(way), wrs.data(), &bad);
  EXPECT_EQ(error, wrong < count ? EINVAL : 0);
  EXPECT_EQ(bad, wrong < count ? &wrs[wrong] : nullptr);
  refused_ += wrong < count;
  for (std::size_t n = 0; n < wrong; ++n) {
    reference().post_receive(way, wrs[n].wr_id, places[n]);
    if (!traces_) continue;
    std::cout << "way " << static_cast<int>(way) << " receive " << wrs[n].wr_id << ':';
    for (const Piece& p : places[n]) std::cout << ' ' << p.at << '+' << p.bytes;
    std::cout << '\n';
  }
}

// Binds a window, or ends one of type 2. `way`: of the QP of B that does it, unless another one has bound the window.
void Differential::use_window(Way way) {
  const std::size_t n = below(Reference::kWindows);
  const bool type2 = n >= Reference::kWindows / 2;
  Reference::Window& w = reference().window(n);
  Mw& mw = window(n);
  if (w.valid && w.way) way = *w.way;
  ibv_qp* const qp = type2 ? pair(way).to.get() : fence_.to.get();
  ++window_requests_;
  if (traces_) std::cout << "way " << static_cast<int>(way) << " window " << n << (w.valid ? ", valid\n" : "\n");
  const std::uint64_t id = ++ids_;
  const bool ends = type2 && w.valid && chance(95);  // one that is bound may not be bound again
  if (ends) {
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = mw.rkey;
    post(qp, wr);
    expect_window_done(id, IBV_WC_LOCAL_INV, true);
    w.valid = false;
    return;
  }
  const bool good = !(type2 && w.valid);
  const std::size_t bytes = 1 + below(8000);
  const Piece of{below(kArena - bytes) & ~std::size_t{7}, bytes};
  const unsigned int rights[] = {IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC};
  unsigned int access = chance(30) ? 0u + IBV_ACCESS_ZERO_BASED : 0u;
  for (const unsigned int right : rights) access |= chance(70) ? right : 0;
  const ibv_mw_bind_info info{bindable_.get(), b_space_.arena.address(of.at), of.bytes, access};
  if (type2) {
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw = {mw.mw.get(), ibv_inc_rkey(mw.rkey), info};
    post(qp, wr);
    if (good) mw.rkey = wr.bind_mw.rkey;
  } else {
    ibv_mw_bind request{};
    request.wr_id = id;
    request.send_flags = IBV_SEND_SIGNALED;
    request.bind_info = info;
    must(ibv_bind_mw(qp, mw.mw.get(), &request), "ibv_bind_mw");
    mw.rkey = mw.mw->rkey;
  }
  expect_window_done(id, IBV_WC_BIND_MW, good);
  if (!good) return fail_by_itself(way);
  w = {true, type2 ? std::optional(way) : std::nullopt, of, access};
}

// The end of a sequence: windows of type 1 are bound to nothing.
void Differential::close_windows() {
  for (std::size_t n = 0; n < Reference::kWindows; ++n) {
    if (!reference().window(n).valid) continue;
    ibv_mw_bind request{};
    request.wr_id = ++ids_;
    request.send_flags = IBV_SEND_SIGNALED;
    must(ibv_bind_mw(fence_.to.get(), window(n).mw.get(), &request), "ibv_bind_mw");
    window(n).rkey = window(n).mw->rkey;
    expect_window_done(ids_, IBV_WC_BIND_MW, true);
    reference().window(n) = {};
  }
}

void Differential::operate() {
  Reference::TagOp op;
  op.wr_id = ++ids_;
  op.signaled = chance(50);
  op.sync = chance(60);
  op.unexpected = reference().unexpected() - (chance(10) && reference().unexpected() > 0 ? 1 : 0);
  ibv_ops_wr wr{};
  ibv_sge buffer{};
  const std::size_t kind = below(10);
  if (kind < 6 && reference().tags() < kTagCount) {
    op.opcode = IBV_WR_TAG_ADD;
    op.recv_wr_id = ++ids_;
    const bool wild = chance(30);
    op.mask = wild ? 0xf00 : ~std::uint64_t{0};
    op.tag = below(4) << 8 | (wild ? 0 : below(3));
    const std::size_t bytes = length() + (chance(60) ? 100 : 0);
    op.to = {whole(below(kSpace - 2 * bytes), bytes), bytes};
    op.entry = ++entries_;
    buffer = b_space_.sge(op.to);
    wr.tm.add = {op.recv_wr_id, &buffer, 1, op.tag, op.mask};
  } else if (kind < 8 && !handles_.empty()) {
    op.opcode = IBV_WR_TAG_DEL;
    const auto& [entry, handle] = handles_[below(handles_.size())];
    op.entry = entry;
    wr.tm.handle = handle;
  } else {
    op.opcode = IBV_WR_TAG_SYNC;
  }
  wr.wr_id = op.wr_id;
  wr.opcode = op.opcode;
  wr.flags = (op.signaled ? IBV_OPS_SIGNALED : 0) | (op.sync ? IBV_OPS_TM_SYNC : 0);
  wr.tm.unexpected_cnt = op.unexpected;
  ibv_ops_wr* bad = nullptr;
  must(ibv_post_srq_ops(srq(Way::kTags).get(), &wr, &bad), "ibv_post_srq_ops");
  if (op.opcode == IBV_WR_TAG_ADD) {
    // A handle is used again once its entry is gone: only its newest entry can be meant.
    std::erase_if(handles_, [&](const auto& h) { return h.second == wr.tm.handle; });
    handles_.emplace_back(op.entry, wr.tm.handle);
  }
  ++operations_;
  Reference::Effect effect;
  effect.on(Queue::kReceived) = reference().operate(op);
  if (effect.on(Queue::kReceived).empty()) return sync(false);
  effect.on(Queue::kSent).clear();
  expect(effect, Way::kTags);
}

// Waits until the NIC has carried out the operations before.
void Differential::sync(bool in_phase) {
  Reference::TagOp op;
  op.wr_id = ++ids_;
  op.signaled = true;
  op.sync = in_phase;
  op.unexpected = reference().unexpected();
  ibv_ops_wr wr{}, *bad = nullptr;
  wr.wr_id = op.wr_id;
  wr.opcode = IBV_WR_TAG_SYNC;
  wr.flags = IBV_OPS_SIGNALED | (in_phase ? 0 + IBV_OPS_TM_SYNC : 0);
  wr.tm.unexpected_cnt = op.unexpected;
  must(ibv_post_srq_ops(srq(Way::kTags).get(), &wr, &bad), "ibv_post_srq_ops");
  Reference::Effect effect;
  effect.on(Queue::kReceived) = reference().operate(op);
  expect(effect, Way::kTags);
}

// The end of a sequence: no receives, tags or windows are left.
void Differential::drain(Way way) {
  if (way == Way::kTags) {
    for (const auto& [entry, handle] : handles_) {
      if (!reference().has_entry(entry)) continue;
      Reference::TagOp op;
      op.wr_id = ++ids_;
      op.opcode = IBV_WR_TAG_DEL;
      op.signaled = true;
      op.entry = entry;
      ibv_ops_wr wr{}, *bad = nullptr;
      wr.wr_id = op.wr_id;
      wr.opcode = op.opcode;
      wr.flags = IBV_OPS_SIGNALED;
      wr.tm.handle = handle;
      must(ibv_post_srq_ops(srq(way).get(), &wr, &bad), "ibv_post_srq_ops");
      Reference::Effect effect;
      effect.on(Queue::kReceived) = reference().operate(op);
      expect(effect, way);
    }
    handles_.clear();
    sync(true);
  }
  for (std::size_t n = 0; n < Reference::kWindows; ++n) {
    Reference::Window& w = reference().window(n);
    if (!w.valid || w.way != way) continue;
    ibv_send_wr wr{};
    wr.wr_id = ++ids_;
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = window(n).rkey;
    post(pair(way).to.get(), wr);
    expect_window_done(ids_, IBV_WC_LOCAL_INV, true);
    w = {};
  }
  const bool datagram = way == Way::kUd || way == Way::kGroup;
  std::size_t left = reference().posted(way);
  if (way == Way::kGroup) left += reference().posted(Way::kGroup2) + reference().posted(Way::kGroupOfA);
  if ((datagram && left > 0) || fins_ > 0) restore(way);
  if (datagram || left == 0) return;
  Requests list(left);
  std::vector<ibv_sge> none;
  std::vector<ibv_send_wr> wrs(left);
  for (std::size_t n = 0; n < left; ++n) {
    list[n].way = way;
    list[n].wr_id = ++ids_;
    list[n].signaled = n + 1 == left;
    wrs[n] = wr_of(list[n], none);
    wrs[n].next = n + 1 < left ? &wrs[n + 1] : nullptr;
  }
  post(pair(way).from.get(), wrs.front());
  carry_out(way, list);
}

}  // namespace rxnic::live
