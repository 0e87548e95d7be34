// SPDX-License-Identifier: Apache-2.0
// Lists of requests: random ones, how they are posted, and what must come of them.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>

#include "testbench/live/differential.h"

namespace rxnic::live {

namespace {

using Request = Reference::Request;

constexpr std::size_t kTmh = sizeof(ibv_tmh), kHalf = kArena / 2;
constexpr std::size_t kFins = kArena - kPage;  // A's receives of FINs; what B reads by rendezvous is before it

bool is_atomic(ibv_wr_opcode o) { return o == IBV_WR_ATOMIC_FETCH_AND_ADD || o == IBV_WR_ATOMIC_CMP_AND_SWP; }
bool returns_data(ibv_wr_opcode o) { return o == IBV_WR_RDMA_READ || is_atomic(o); }
bool is_send(ibv_wr_opcode o) { return o == IBV_WR_SEND || o == IBV_WR_SEND_WITH_IMM || o == IBV_WR_SEND_WITH_INV; }
bool takes_receive(ibv_wr_opcode o) { return is_send(o) || o == IBV_WR_RDMA_WRITE_WITH_IMM; }
bool reliable(Way way) { return way == Way::kRc || way == Way::kSrq || way == Way::kXrc; }

std::string trace_of(const Request& r) {
  std::string text = "way " + std::to_string(static_cast<int>(r.way)) + " wr_id " + std::to_string(r.wr_id) +
                     ": opcode " + std::to_string(r.opcode) + ", " + std::to_string(length_of(r.local)) +
                     " bytes, remote " + std::to_string(r.remote) + ", window " + std::to_string(r.window);
  for (const auto& [flag, name] : {std::pair{r.bad_lkey, " bad_lkey"},
                                   {r.bad_rkey, " bad_rkey"},
                                   {r.fenced, " fenced"},
                                   {r.inline_data.has_value(), " inline"},
                                   {r.signaled, " signaled"},
                                   {r.solicited, " solicited"},
                                   {r.invalidates >= 0, " invalidates"}}) {
    if (flag) text += name;
  }
  for (const Piece& p : r.local) text += " " + std::to_string(p.at) + "+" + std::to_string(p.bytes);
  return text;
}

bool overlap(const Piece& a, const Piece& b) { return a.at < b.at + b.bytes && b.at < a.at + a.bytes; }
bool overlap(const Pieces& a, const Pieces& b) {
  return std::any_of(a.begin(), a.end(), [&](const Piece& x) {
    return std::any_of(b.begin(), b.end(), [&](const Piece& y) { return overlap(x, y); });
  });
}
bool of_host(const Pieces& pieces) {
  return std::all_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.at + p.bytes <= kArena; });
}

}  // namespace

void Differential::write_a(std::size_t at, const void* from, std::size_t bytes) {
  std::memcpy(a_space_.arena.at(at), from, bytes);
  std::memcpy(reference().a().data() + at, from, bytes);
}

std::uint32_t Differential::remote_key(const Request& r) {
  if (r.bad_rkey) return b_space_.rkey(r.remote) ^ 0x5a5a00;
  return r.window < 0 ? b_space_.rkey(r.remote) : window(static_cast<std::size_t>(r.window)).rkey;
}

std::uint64_t Differential::remote_address(const Request& r) {
  if (r.window < 0) return b_space_.address(r.remote);
  const Reference::Window& w = reference().window(static_cast<std::size_t>(r.window));
  const std::uint64_t base = (w.access & IBV_ACCESS_ZERO_BASED) != 0 ? b_space_.arena.address(w.of.at) : 0;
  return b_space_.arena.address(r.remote) - base;
}

// Where in B's memory, and by which key.
void Differential::reach(Request& r, std::size_t bytes) {
  r.remote = whole(below(kSpace - 2 * bytes), bytes);
  const bool odd = r.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && r.way != Way::kRc;
  // The last packet of a WRITE with immediate may have taken a receive when the first packet is refused. The rules
  // leave this open, and with an SRQ it shows.
  if (!odd && chance(2)) {
    r.bad_rkey = true;
  } else if (!odd && chance(15)) {
    const std::size_t n = below(Reference::kWindows);
    const Piece& of = reference().window(n).of;
    if (reference().window(n).valid || chance(5)) {
      r.window = static_cast<int>(n);
      if (r.remote >= kArena) r.remote = 0;
      if (of.bytes >= bytes && !chance(5)) r.remote = of.at + below(of.bytes - bytes + 1);
      r.remote = std::min(r.remote, kArena - bytes);
    }
  }
  const bool words = is_atomic(r.opcode) || r.opcode == IBV_WR_ATOMIC_WRITE;
  if (words && !chance(3)) r.remote &= ~std::size_t{7};
}

Request Differential::request(Way way) {
  constexpr ibv_wr_opcode kOpcodes[] = {
      IBV_WR_SEND,        IBV_WR_SEND_WITH_IMM,        IBV_WR_RDMA_WRITE,         IBV_WR_RDMA_WRITE_WITH_IMM,
      IBV_WR_RDMA_READ,   IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_INV,
      IBV_WR_ATOMIC_WRITE};
  const bool datagram = way == Way::kUd || way == Way::kGroup;
  const std::size_t known = datagram ? 2 : way == Way::kUc ? 4 : way == Way::kXrc ? 7 : way == Way::kSrq ? 9 : 9;
  Request r;
  r.way = way;
  r.wr_id = ++ids_;
  r.opcode = kOpcodes[below(known)];
  if (r.opcode == IBV_WR_SEND_WITH_INV && !chance(40)) r.opcode = IBV_WR_SEND;
  r.signaled = chance(75) || impaired_;
  r.solicited = takes_receive(r.opcode) && chance(30);
  r.fenced = reliable(way) && chance(15);
  const bool words = is_atomic(r.opcode) || r.opcode == IBV_WR_ATOMIC_WRITE;
  std::size_t bytes = words ? 8 : datagram ? std::min<std::size_t>(length(), 1024) : length();
  if (r.opcode == IBV_WR_ATOMIC_WRITE && chance(3)) bytes = 16;
  // A's own QP of the group receives beside the requests that follow: into the other half.
  const std::size_t end = way == Way::kGroup ? kHalf : kSpace;
  r.local = pieces(bytes, returns_data(r.opcode) || words ? 1 : 1 + below(chance(80) ? 3 : kMostSges), 0, end);
  const bool sends_data = is_send(r.opcode) || r.opcode == IBV_WR_RDMA_WRITE ||
                          r.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || r.opcode == IBV_WR_ATOMIC_WRITE;
  if (sends_data && bytes <= 64 && of_host(r.local) && chance(30)) reference().take_inline(r);
  r.bad_lkey = (r.inline_data && chance(50)) || chance(1);  // nobody looks at the keys of inline data
  if (!is_send(r.opcode)) reach(r, bytes);
  if (r.opcode == IBV_WR_SEND_WITH_INV) {
    for (std::size_t n = Reference::kWindows / 2; n < Reference::kWindows; ++n) {
      const Reference::Window& w = reference().window(n);
      if (w.valid && w.way == way) r.invalidates = static_cast<int>(n);
    }
    if (r.invalidates < 0 && !chance(10)) r.opcode = IBV_WR_SEND_WITH_IMM;
  }
  r.immediate = static_cast<std::uint32_t>(random_());
  r.compare_add = random_();
  r.swap = random_();
  if (r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP && chance(50)) {
    std::memcpy(&r.compare_add, reference().b().data() + r.remote, sizeof r.compare_add);
  }
  return r;
}

// A message for the TM SRQ, with a TMH in front of it. A rendezvous is alone: messages behind it do not wait for it.
Request Differential::tagged(std::size_t slot, bool alone) {
  Request r;
  r.way = Way::kTags;
  r.wr_id = ++ids_;
  r.signaled = chance(75) || impaired_;
  const bool asks = alone && chance(30);
  const std::size_t bytes = asks ? sizeof(ibv_rvh) + (chance(20) ? below(40) : 0) : length();
  const std::size_t at = slot * (kHalf / 4) + below(kHalf / 4 - kTmh - bytes);
  r.local = {{at, kTmh + bytes}};
  ibv_tmh tmh{};
  tmh.opcode = static_cast<std::uint8_t>(asks ? IBV_TMH_RNDV : chance(85) ? IBV_TMH_EAGER : IBV_TMH_NO_TAG);
  tmh.app_ctx = htobe32(static_cast<std::uint32_t>(random_()));
  tmh.tag = htobe64(below(4) << 8 | below(3));
  write_a(at, &tmh, sizeof tmh);
  if (!asks) return r;
  ibv_rvh rvh{};
  const std::size_t length_of_message = length();
  rvh.va = htobe64(a_space_.arena.address(kHalf + below(kFins - kHalf - length_of_message)));
  rvh.rkey = htobe32(a_space_.rkey(0));
  rvh.len = htobe32(static_cast<std::uint32_t>(length_of_message));
  write_a(at + kTmh, &rvh, sizeof rvh);
  for (; fins_ < 4; ++fins_) {
    const Piece to{kFins + below(kPage - 64), 64};
    std::vector<ibv_sge> list{a_space_.sge(to)};
    post_receive(pair(Way::kTags).from.get(), list, ++ids_);
    reference().post_fin_receive(ids_, to);
  }
  return r;
}

// A request that may not be carried out beside a READ or atomic before it, an ATOMIC WRITE among them, is fenced.
// (reference.h R1)
void Differential::fence_where_needed(Requests& list) {
  Requests pending;
  for (Request& r : list) {
    if (!reliable(r.way)) return;
    const Pieces remote{{r.remote, length_of(r.local)}};
    for (const Request& p : pending) {
      const Pieces read{{p.remote, length_of(p.local)}};
      r.fenced |= r.opcode == IBV_WR_SEND_WITH_INV || overlap(p.local, r.local);
      r.fenced |= takes_receive(r.opcode) && reference().may_receive_into(r.way, read.front());
      r.fenced |= !is_send(r.opcode) && r.opcode != IBV_WR_RDMA_READ && overlap(read, remote);
    }
    if (r.fenced && !pending.empty()) ++fenced_;
    if (r.fenced) pending.clear();
    if (returns_data(r.opcode) || r.opcode == IBV_WR_ATOMIC_WRITE) pending.push_back(r);
  }
}

ibv_send_wr Differential::wr_of(const Request& r, std::vector<ibv_sge>& sges) {
  sges.clear();
  for (const Piece& p : r.local) sges.push_back(a_space_.sge(p));
  if (r.bad_lkey) {
    for (ibv_sge& sge : sges) sge.lkey ^= 0x5a5a00;
  }
  ibv_send_wr wr = send_wr(r.opcode, sges, r.wr_id);
  wr.send_flags = (r.signaled ? 0u + IBV_SEND_SIGNALED : 0u) | (r.solicited ? 0u + IBV_SEND_SOLICITED : 0u) |
                  (r.fenced ? 0u + IBV_SEND_FENCE : 0u) | (r.inline_data ? 0u + IBV_SEND_INLINE : 0u);
  wr.imm_data = htobe32(r.immediate);
  if (r.opcode == IBV_WR_SEND_WITH_INV) {
    wr.invalidate_rkey = r.invalidates < 0 ? b_space_.rkey(0) : window(static_cast<std::size_t>(r.invalidates)).rkey;
  }
  if (is_atomic(r.opcode)) {
    wr.wr.atomic = {remote_address(r), r.compare_add, r.swap, remote_key(r)};
  } else if (!is_send(r.opcode)) {
    wr.wr.rdma = {remote_address(r), remote_key(r)};
  }
  if (r.way == Way::kUd) wr.wr.ud = {pair(r.way).address.get(), pair(r.way).to->qp_num, Path{}.qkey};
  if (r.way == Way::kGroup) wr.wr.ud = {pair(r.way).address.get(), 0xffffff, Path{}.qkey};
  if (r.way == Way::kXrc) must(ibv_get_srq_num(srq(r.way).get(), &wr.qp_type.xrc.remote_srqn), "ibv_get_srq_num");
  return wr;
}

// Makes one that is refused when it is posted.
void Differential::spoil(ibv_send_wr& wr, std::vector<ibv_sge>& sges) {
  sges.resize(kMostSges + 1);
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  wr.send_flags &= ~(0u + IBV_SEND_INLINE);
}

// By ibv_wr_*: all or nothing. False: refused.
bool Differential::post_extended(Way way, std::vector<ibv_send_wr>& wrs) {
  ibv_qp_ex* const ex = ibv_qp_to_qp_ex(pair(way).from.get());
  ibv_wr_start(ex);
  for (const ibv_send_wr& wr : wrs) {
    ex->wr_id = wr.wr_id;
    ex->wr_flags = wr.send_flags & ~(0u + IBV_SEND_INLINE);
    const auto& [va, rkey] = wr.wr.rdma;
    const auto& atomic = wr.wr.atomic;
    switch (wr.opcode) {
      case IBV_WR_SEND:
        ibv_wr_send(ex);
        break;
      case IBV_WR_SEND_WITH_IMM:
        ibv_wr_send_imm(ex, wr.imm_data);
        break;
      case IBV_WR_SEND_WITH_INV:
        ibv_wr_send_inv(ex, wr.invalidate_rkey);
        break;
      case IBV_WR_RDMA_WRITE:
        ibv_wr_rdma_write(ex, rkey, va);
        break;
      case IBV_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(ex, rkey, va, wr.imm_data);
        break;
      case IBV_WR_RDMA_READ:
        ibv_wr_rdma_read(ex, rkey, va);
        break;
      case IBV_WR_ATOMIC_FETCH_AND_ADD:
        ibv_wr_atomic_fetch_add(ex, atomic.rkey, atomic.remote_addr, atomic.compare_add);
        break;
      case IBV_WR_ATOMIC_CMP_AND_SWP:
        ibv_wr_atomic_cmp_swp(ex, atomic.rkey, atomic.remote_addr, atomic.compare_add, atomic.swap);
        break;
      default:
        ibv_wr_atomic_write(ex, rkey, va, reinterpret_cast<const void*>(wr.sg_list[0].addr));
        continue;
    }
    if (way == Way::kUd || way == Way::kGroup) ibv_wr_set_ud_addr(ex, wr.wr.ud.ah, wr.wr.ud.remote_qpn, Path{}.qkey);
    if (way == Way::kXrc) ibv_wr_set_xrc_srqn(ex, wr.qp_type.xrc.remote_srqn);
    const auto count = static_cast<std::size_t>(wr.num_sge);
    if ((wr.send_flags & IBV_SEND_INLINE) == 0) {
      ibv_wr_set_sge_list(ex, count, wr.sg_list);
      continue;
    }
    std::vector<ibv_data_buf> buffers;
    for (std::size_t n = 0; n < count; ++n) {
      buffers.push_back({reinterpret_cast<void*>(wr.sg_list[n].addr), wr.sg_list[n].length});
    }
    ibv_wr_set_inline_data_list(ex, buffers.size(), buffers.data());
  }
  return ibv_wr_complete(ex) == 0;
}

// What is sent behind a request that B refuses may have taken a receive before B knows of the refusal. On an SRQ a
// receive that is flushed shows this; the rules leave it open. There a request that fails is the last one.
void Differential::end_at_failure(Requests& list) const {
  if (has_own_receives(list.front().way) || list.size() == 1) return;
  Reference dry = *reference_;
  for (std::size_t n = 0; n < list.size(); ++n) {
    if (!dry.carry_out(list[n]).fails) continue;
    list.resize(n + 1);
    return;
  }
}

// (R3)
void Differential::leave_out_failures(Requests& list) const {
  Reference dry = *reference_;
  std::erase_if(list, [&](const Request& r) {
    Reference after = dry;
    if (after.carry_out(r).fails) return true;
    dry = after;
    return false;
  });
}

// One call with some requests, of which one may be refused: then those before it are posted, by ibv_wr_* none.
void Differential::requests(Way way, std::size_t count) {
  Requests list;
  for (std::size_t n = 0; n < count; ++n) list.push_back(way == Way::kTags ? tagged(n, count == 1) : request(way));
  // When a list is posted, it is not known what the list does with receives that are posted later. A SEND into them may
  // be carried out beside a READ, or not, and a receive may be too short for its SEND (end_at_failure).
  const auto read = std::find_if(list.begin(), list.end(), [](const Request& r) {
    return returns_data(r.opcode) || r.opcode == IBV_WR_ATOMIC_WRITE;
  });
  const bool mixed = std::any_of(read, list.end(), [](const Request& r) { return takes_receive(r.opcode); });
  const bool topped_up = mixed || impaired_ || (count > 1 && !has_own_receives(way));
  while (topped_up && reference().posted(way) < count) receive(way, true);
  if (impaired_) {
    leave_out_failures(list);
    if (list.empty()) return;
  }
  end_at_failure(list);
  count = list.size();
  fence_where_needed(list);
  const std::size_t wrong = chance(5) ? below(count) : count;
  if (wrong > 0) list[wrong - 1].signaled = true;  // the last that is posted: it says when all are done
  std::vector<std::vector<ibv_sge>> sges(count);
  std::vector<ibv_send_wr> wrs(count);
  for (std::size_t n = 0; n < count; ++n) {
    wrs[n] = wr_of(list[n], sges[n]);
    wrs[n].next = n + 1 < count ? &wrs[n + 1] : nullptr;
  }
  if (wrong < count) {
    if (list[wrong].opcode == IBV_WR_ATOMIC_WRITE) wrs[wrong].opcode = IBV_WR_RDMA_WRITE;
    spoil(wrs[wrong], sges[wrong]);
  }
  const bool odd = std::any_of(list.begin(), list.end(), [](const Request& r) {  // for a pointer to eight bytes
    return r.opcode == IBV_WR_ATOMIC_WRITE && (length_of(r.local) != 8 || !of_host(r.local) || r.bad_lkey);
  });
  if (!odd && chance(30)) {
    for (Request& r : list) {
      if (r.opcode == IBV_WR_ATOMIC_WRITE) reference().take_inline(r);
    }
    EXPECT_EQ(post_extended(way, wrs), wrong == count);
    if (wrong < count) list.clear();
  } else {
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(pair(way).from.get(), wrs.data(), &bad), wrong < count ? EINVAL : 0);
    EXPECT_EQ(bad, wrong < count ? &wrs[wrong] : nullptr);
    list.resize(wrong);
  }
  for (const Request& r : list) {
    if (traces_) std::cout << trace_of(r) << '\n';
  }
  refused_ += wrong < count;
  lists_ += list.size() > 1;
  requests_ += list.size();
  if (!list.empty()) carry_out(way, list);
}

void Differential::carry_out(Way way, const Requests& list) {
  Reference::Effect all;
  for (const Request& r : list) {
    if (all.fails) {
      all.on(Queue::kSent).push_back(Reference::flushed(r.wr_id));
      continue;
    }
    Reference::Effect effect = reference().carry_out(r);
    while (effect.waits) {
      ++waits_;
      receive(way, list.size() > 1);
      effect = reference().carry_out(r);
    }
    fins_ -= static_cast<std::uint32_t>(effect.on(Queue::kFinished).size());
    all.add(effect);
  }
  expect(all, way);
  if (!all.fails) return;
  ++failures_;
  restore(way);
}

// B's QP has failed by a request of its own: its RQ is flushed.
void Differential::fail_by_itself(Way way) {
  Reference::Effect effect;
  effect.on(Queue::kReceived) = reference().fail_receiver(way);
  expect(effect, way);
  ++failures_;
  restore(way);
}

}  // namespace rxnic::live
