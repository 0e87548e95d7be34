// SPDX-License-Identifier: Apache-2.0
// The completion queues of a device: a cache of their contexts (core/memory/context_cache.h), and what the generator
// keeps of those that are here.
//
//   R1  Open sessions are listed in the order in which they last grew. A session that ends, and a session whose CQ is
//       closed, destroyed or created anew, leaves the list.
//   R2  A closed CQ exists and holds nothing: no session, no event.
//   R3  A CQ that moves to another ring begins there with its number 0 (core/completion/cq_move.h); its session goes
//       with it.
//   R4  A CQ with an open session is not evicted: the session is not part of its record.
//   R5  Commands reach only CQs that are here; one is created and removed as context_cache.h says (R6).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "model/core/completion/completion_queue.h"
#include "model/core/completion/cq_move.h"
#include "model/core/completion/cqe_format.h"
#include "model/core/completion/session_list.h"
#include "model/core/memory/context_cache.h"
#include "model/types/message_times.h"

namespace rxnic {

struct CqState {
  using Record = CqRecord;
  Record& record() { return queue.record(); }
  const Record& record() const { return queue.record(); }
  struct Session {
    CompressionSession block;
    std::array<MessageTimes, kMaxSession> times{};  // by completion of the block; for observers
  };
  // Completions that the session holds back.
  std::uint32_t held() const { return session == nullptr ? 0 : session->block.count(); }
  Session& open_session() {
    if (session == nullptr) session = std::make_unique<Session>();
    return *session;
  }
  void clear_session() {
    if (session != nullptr) session->block.clear();
  }
  void settle() {  // another CQ has come
    clear_session();
    fresh = true;
  }
  CompletionQueue queue;
  std::unique_ptr<Session> session;  // from the first completion that the line held back
  std::uint32_t session_limit = 0;   // completions a block may hold, 0: not compressed
  bool fresh = false;                // session_limit and the queue's period are still those of another CQ
};

class CqTable {
 public:
  using Cache = ContextCache<CqState>;
  struct Options {
    ContextCacheSizes sizes;
    std::uint32_t session_limit = 0;  // completions that a compressed block may hold, 0: nothing is compressed
    std::uint64_t moderation_unit_ps = 1'000'000;
    std::uint32_t clock_period_ps = 1000;
  };
  explicit CqTable(const Options& options, std::unique_ptr<Replacement> replacement = nullptr);

  Cache& cache() { return cache_; }
  const Cache& cache() const { return cache_; }
  // nullptr: not here.
  CqState* find(Cqn number) {
    const std::uint32_t line = cache_.find(raw(number));
    return line == Cache::kNone ? nullptr : &(*this)[line];
  }
  const CqState* find(Cqn number) const {
    const std::uint32_t line = cache_.find(raw(number));
    return line == Cache::kNone ? nullptr : &cache_[line];
  }
  CqState& operator[](std::uint32_t line) {
    CqState& cq = cache_[line];
    if (cq.fresh) prepare(cq);
    return cq;
  }
  // core/memory/context_waits.h
  std::uint32_t line_of(std::uint32_t number) const { return cache_.find(number); }
  bool gone(std::uint32_t) const { return false; }
  bool may_evict(std::uint32_t line) const { return cache_[line].held() == 0; }  // (R4)
  void evicted(std::uint32_t) {}

  // (R1)
  const SessionList& sessions() const { return sessions_; }
  void grew(const CqState& cq, Cycle ends) { sessions_.push_back(cache_.line_of(cq), ends); }
  void end_session(CqState& cq) {
    cq.clear_session();
    sessions_.remove(cache_.line_of(cq));
  }

  // Before the first cycle. In the place of one with the same number. False: it is not here.
  bool create(const CqContext& context, HostMemory& memory);
  // Commands (R5). False, and nothing done: no line is free, or its context is on its way.
  // In the place of one with the same number. `stored`: host memory has it, too.
  bool place(const CqContext& context, bool stored = false);
  bool destroy(Cqn number);
  void close(CqState& cq);
  CqMove resize(CqState& cq, const CqContext& context, std::uint32_t consumer);
  void set_moderation(CqState& cq, std::uint16_t count, std::uint16_t period_us);

 private:
  void changed(CqState& cq) { cache_.set_dirty(cache_.line_of(cq)); }
  void end_session_of(Cqn number) {
    if (CqState* const cq = find(number)) end_session(*cq);
  }
  void prepare(CqState& cq) const;

  Options options_;
  Cache cache_;
  SessionList sessions_;
};

}  // namespace rxnic
