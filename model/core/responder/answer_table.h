// SPDX-License-Identifier: Apache-2.0
// The answers that a responder has to send, for each QP in the order of its requests. Without time: that is the ACK
// generator's part (model/blocks/ack_generator.h).
//
//   R1  Answers of a QP are due in their order. An answer that needs no memory read or changed is due as soon as it is
//       the first of its QP. A READ is due with its data, an atomic when it has been carried out.
//   R2  Each QP has its own list of answers: no answer waits for one of another QP.
//   R3  An ACK that is the last of its QP's waiting answers is replaced by the next one, which acknowledges its request
//       as well.
//   R4  `capacity` answers in all.
#pragma once

#include <cstdint>
#include <vector>

#include "model/core/responder/response.h"
#include "model/core/responder/return_path.h"
#include "model/types/context.h"

namespace rxnic {

// A READ or an atomic is an answer that needs memory.
enum class AnswerNeeds : std::uint8_t { kNothing, kRead, kAtomic };

struct AnswerState {
  std::uint64_t id = 0;  // of the request packet, for observers
  Cycle begun{};         // its arrival, for observers
  AnswerNeeds needs = AnswerNeeds::kNothing;
  bool gives_way = false;  // a plain ACK (R3)
  bool failed = false;     // something before it in its QP failed: no answer
  bool issued = false;     // atomic: asked for
  bool done = false;       // atomic: `h.original` is known, or it is a NAK
  bool replay = false;     // atomic: answered with what was saved
  bool counted = false;    // a READ or an atomic that is not repeated
  Qpn qpn{};
  std::uint32_t line = kNoLine;  // READ, atomic: pinned
  std::uint32_t residence = 0;
  Pdn pd{};                        // READ: protection domain of its memory
  std::uint32_t msn_before = 0;    // of a NAK in its place
  std::uint32_t on_their_way = 0;  // READ: responses that wait for memory
  std::uint64_t after = 0;         // READ: answers that were ready before go before it
  std::uint64_t original = 0;      // atomic: where DMA puts the value
  std::uint32_t resource = 0;      // atomic: handle of the responder resource
  std::uint8_t syndrome = 0;       // of `ack`
  Address destination;             // of `ack`
};

struct OwedAnswer : AnswerState {
  AckFrame ack;         // the answer, when it is known already ...
  Headers h;            // ... otherwise its headers
  ReadInProgress read;  // READ
};

class AnswerTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  // A QP with answers.
  struct Flow {
    std::uint32_t qpn = 0;
    Index first = kNone, last = kNone;
    std::uint32_t count = 0;
    std::uint32_t counted = 0;                                // of them
    std::uint32_t turns = 0;                                  // responses of it asked for since its turn began
    bool listed = false;                                      // in the block's list of those with READ data to ask for
    std::uint32_t first_on_way = kNone, last_on_way = kNone;  // in the block's list of READ data that was asked for
    std::uint32_t on_way = 0;                                 // of these
    bool at_limit = false;                                    // as much as may be: not in turn
    Index held = kNone;                                       // a coalesced ACK, not in the list
    std::uint32_t held_requests = 0;
    Cycle held_until = kNever;
  };

  explicit AnswerTable(std::uint32_t capacity);

  std::uint32_t room() const { return static_cast<std::uint32_t>(free_answers_.size()); }
  OwedAnswer& operator[](Index at) { return answers_[at].owed; }
  const OwedAnswer& operator[](Index at) const { return answers_[at].owed; }
  Flow& flow(Index at) { return flows_[at]; }
  const Flow& flow(Index at) const { return flows_[at]; }

  Index find(std::uint32_t qpn) const;  // the QP's flow; kNone: it has none
  Index find_or_make(std::uint32_t qpn);
  void free_if_empty(Index flow);

  // A new one, in no flow yet, with old contents. Precondition: room() > 0.
  Index add();
  void append(Index flow, Index answer);
  Index next(Index answer) const { return answers_[answer].next; }
  Index take_first(Index flow);  // out of its flow; the answer stays
  void remove(Index answer);

 private:
  struct Entry {
    OwedAnswer owed;
    Index next = kNone;  // of the same QP
  };
  std::size_t bucket(std::uint32_t qpn) const { return (std::size_t{qpn} * 0x9e3779b1u >> 8) & (buckets_.size() - 1); }

  // Those that have been in use, with room for all.
  std::vector<Entry> answers_;
  std::vector<Index> free_answers_;
  std::vector<Flow> flows_;
  std::vector<Index> next_in_bucket_;  // by flow
  std::vector<Index> free_flows_;
  std::vector<Index> buckets_;
};

}  // namespace rxnic
