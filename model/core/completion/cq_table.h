// SPDX-License-Identifier: Apache-2.0
// The completion queues of a device: the generator's state of each, found by its number.
//
//   R1  The place of a CQ that no longer exists is reused by the next one. Its stamp goes on counting, so that a block
//       that has stored place and stamp can tell that the CQ is another one.
//   R2  A closed CQ exists and holds nothing: no session, no event.
//   R3  A CQ that moves to another ring begins there with its number 0 (core/completion/cq_move.h); its session goes
//       with it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/core/completion/completion_queue.h"
#include "model/core/completion/cq_move.h"
#include "model/core/completion/cqe_format.h"

namespace rxnic {

struct CqState {
  explicit CqState(const CompletionQueue& made) : queue(made) {}
  CompletionQueue queue;
  CompressionSession session;
  std::array<Cycle, kMaxSession> posted{};  // by completion of the session: when its sender's doorbell was rung
  std::uint32_t session_limit = 0;          // completions a block may hold, 0: not compressed
  std::uint32_t session_stamp = 0;          // changes whenever the session does
  std::uint64_t last_write = 0;             // number of the last DMA write to its ring
  bool closed = false;
  bool dead = false;       // overran
  bool moderated = false;  // an event of it is due later
};

class CqTable {
 public:
  // `session_limit`: completions that a compressed block may hold, 0: nothing is compressed.
  explicit CqTable(std::uint32_t session_limit) : session_limit_(session_limit) {}

  // Replaces one with the same number. `period`: of its moderation, in cycles.
  void create(const CqContext& context, std::uint64_t period);
  void destroy(Cqn number);
  void close(Cqn number);
  CqMove resize(const CqContext& context, std::uint32_t consumer);

  CqState* find(Cqn number) {
    const std::size_t at = raw(number);
    return at < index_of_.size() && index_of_[at] != 0 ? &cqs_[index_of_[at] - 1] : nullptr;
  }
  const CqState* find(Cqn number) const { return const_cast<CqTable*>(this)->find(number); }
  CqState& operator[](std::uint32_t place) { return cqs_[place]; }
  std::uint32_t place_of(const CqState& cq) const { return static_cast<std::uint32_t>(&cq - cqs_.data()); }
  const std::vector<CqState>& places() const { return cqs_; }

 private:
  void limit_session(CqState& cq) const;

  std::uint32_t session_limit_;
  std::vector<CqState> cqs_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> index_of_;  // by CQN: place + 1
};

}  // namespace rxnic
