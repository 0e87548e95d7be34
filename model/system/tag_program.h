// SPDX-License-Identifier: Apache-2.0
// The program's side of one TM SRQ: which tag it posts next, under which handle, and what a completion asks of it.
// Without time.
//
//   R1  At most `entries` tags are posted, entry h with the buffer h % buffers. An entry is posted again when its
//       message has been received whole.
//   R2  With `tags`, those of the messages to come in their order: each is posted once, `mask` applied. A tag whose
//       message came unexpected before is left out: the program has found the message among its unexpected ones.
//   R3  A tag may be posted although its message came unexpected (it was appended too late, or out of phase, rules
//       5.5). Such a tag is deleted, and the next one is appended when the deletion has completed. A deletion fails
//       when the entry has matched a later message with the same tag: then the next such tag is left out.
//   R4  Without `tags` entry h always has the tag first_tag + h.
//   R5  Each operation carries the number of unexpected messages polled so far (rules 5.5).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/types/completion.h"
#include "model/types/tag_matching.h"

namespace rxnic {

struct TagListParams {
  WqId srq = kNoWq;
  std::uint32_t srq_number = 0;
  std::uint32_t entries = 0;
  std::uint64_t mask = ~std::uint64_t{0};
  std::optional<std::vector<std::uint64_t>> tags;  // (R2)
  std::uint64_t first_tag = 0;                     // (R4)
  std::uint32_t buffers = 1;
  std::uint32_t buffer_bytes = 0;
  std::uint64_t buffer_base = 0;
  Key lkey{};
};

class TagProgram {
 public:
  explicit TagProgram(TagListParams params);

  // What a completion of the SRQ asks for: a tag for this entry, or its deletion.
  struct Action {
    enum class Kind : std::uint8_t { kNone, kAppend, kDelete } kind = Kind::kNone;
    std::uint32_t entry = 0;
  };
  Action completed(const Cqe& cqe);
  // The operation, when it is given to the device. Nothing: there is no tag left to post.
  std::optional<TagOperation> operation(const Action& action);
  const TagListParams& params() const { return params_; }

  // A message that matched no tag (rules 5.6).
  static bool is_unexpected(const Cqe& cqe) {
    return cqe.opcode == CqeOpcode::kTagReceive && (cqe.flags & (kCqeTagMatch | kCqeTagDataValid)) == 0;
  }

 private:
  struct Entry {
    std::uint64_t tag = 0;     // masked
    std::uint64_t number = 0;  // of its append
    bool posted = false;       // neither matched nor being deleted, as far as the program knows
  };
  Action unexpected(std::uint64_t tag);
  bool next_tag(std::uint32_t entry, std::uint64_t& tag);
  void take_out(std::uint32_t entry);

  TagListParams params_;
  std::vector<Entry> entries_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> posted_;    // tag, number of the append
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;  // entry of a posted tag
  std::unordered_map<std::uint64_t, std::uint32_t> came_;       // by tag: messages whose tag is left out (R2)
  std::unordered_map<std::uint32_t, std::uint64_t> deleting_;   // by entry: its tag when it was to be deleted
  std::size_t next_ = 0;                                        // of params_.tags
  std::uint64_t appended_ = 0;
  std::uint16_t unexpected_ = 0;  // polled, modulo 2^16
};

}  // namespace rxnic
