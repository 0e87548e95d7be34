// SPDX-License-Identifier: Apache-2.0
// The requester: what it reads from host memory over PCI Express (R1, R2, R4 of requester.h). For WQEs the DMA engine
// gives the time alone: SendQp reads them, perhaps again and again.
#include <algorithm>

#include "model/blocks/requester.h"

namespace rxnic {

namespace {
constexpr std::uint32_t kMostPageAsks = 0xffffff;  // their numbers have 24 bits
}

// Reads of WQEs are complete.
void Requester::take_wqes(Cycle now) {
  while (wqe_dma_done.can_pop(now)) {
    const std::uint32_t at = wqe_dma_done.pop(now).cookie;
    free_reading_.push_back(at);
    const WqeRead read = reading_[at];
    Sq* const q = find(read);
    if (q == nullptr) continue;
    if (read.again) {
      q->goes_back = false;
    } else {
      q->reads = false;
      q->fetched(read.count);
    }
    update(*q);
  }
}

// The QP sends packets again, when it has read their WQE. (R4)
void Requester::ask_again(Sq& q) {
  if (q.goes_back || q.has_own_wqes()) return;
  q.goes_back = true;
  asked_.push_back({true, q.qpn(), q.number, q.resets, 1});
}

// True when it gave a request to the DMA engine; likewise ask_for_payload().
bool Requester::ask_for_wqes(Cycle now) {
  while (!asked_.empty() && wqe_dma.can_push(now)) {
    WqeRead ask = asked_.front();
    asked_.pop_front();
    Sq* const q = find(ask);
    if (q == nullptr) continue;
    if (!ask.again) ask.count = q->wqes_to_read();
    if (ask.count == 0) {  // its state has changed since
      q->reads = false;
      continue;
    }
    const MemoryPiece read = ask.again ? q->repeated_read() : q->wqe_read(ask.count);
    if (free_reading_.empty()) {
      free_reading_.push_back(static_cast<std::uint32_t>(reading_.size()));
      reading_.emplace_back();
    }
    DmaRequest r;
    r.cookie = free_reading_.back();
    r.address = read.address;
    r.bytes = read.bytes;
    wqe_dma.push(now, r);
    free_reading_.pop_back();
    reading_[r.cookie] = ask;
    ++counters_.memory_reads;
    return true;
  }
  return false;
}

// Pieces come in any order.
void Requester::take_payload(Cycle now) {
  while (payload_dma_done.can_pop(now)) {
    const DmaCompletion done = payload_dma_done.pop(now);
    made_[done.cookie].lost |= !done.ok;
    const std::uint32_t turn = made_[done.cookie].turn;
    if (--made_[turn].pieces == 0 && !made_[turn].open) be_ready(turn, now + params_.latency_cycles);
  }
}

bool Requester::ask_for_payload(Cycle now) {
  if (asked_for_all() || !payload_dma.can_push(now)) return false;
  const MemoryPiece& piece = payload_.pieces[asked_pieces_++];
  DmaRequest r;
  r.cookie = payload_place_;
  r.address = piece.address;
  r.bytes = piece.bytes;
  r.data = payload_at_ + piece.at;
  payload_dma.push(now, r);
  ++counters_.memory_reads;
  return true;
}

// True when the QP's next packet needs an absent page. (R16)
bool Requester::ask_for_page(Sq& q, Cycle now) {
  const std::optional<MissingPage> page = q.missing_page();
  if (!page) return false;
  turn_ = q.next;
  if (!events.bound()) {
    q.refuse_page(q.next_wqe());
  } else if (events.can_push(now)) {
    last_page_ask_ = last_page_ask_ % kMostPageAsks + 1;
    events.push(now, {EventType::kPageRequest, last_page_ask_, page->key, page->va});
    page_asks_.push_back({last_page_ask_, q.qpn(), q.number, q.resets, q.next_wqe()});
    q.awaits_page = true;
    ++counters_.page_requests;
  }
  next_make_ = now + 1;
  update(q);
  return true;
}

void Requester::take_page_reply(const Doorbell& reply, Cycle now) {
  const auto of = [&](const PageAsk& ask) { return ask.id == reply.number; };
  const auto ask = std::find_if(page_asks_.begin(), page_asks_.end(), of);
  if (ask == page_asks_.end()) return;
  Sq* const q = find(*ask);
  const std::uint32_t wqe = ask->wqe;
  page_asks_.erase(ask);
  if (q == nullptr) return;
  q->awaits_page = false;
  if (!q->failed() && !q->queue().waiting()) restart_timer(*q, now);
  if (reply.value != 0) q->refuse_page(wqe);
  update(*q);
}

// What a READ or atomic has brought has left for memory: a fenced request may read it. (R3)
void Requester::take_placed(const AnswerNotice& notice) {
  Sq* q = find(notice.qpn);
  if (q == nullptr || q->failed()) return;
  q->queue().place(notice.psn);
  update(*q);
}

}  // namespace rxnic
