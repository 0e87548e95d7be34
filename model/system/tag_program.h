// SPDX-License-Identifier: Apache-2.0
// The program's side of one TM SRQ: which tag it posts next, under which handle, and what a completion asks of it.
// Without time.
//
//   R1  At most `entries` tags are posted, entry h with the buffer h % buffers. An entry is posted again when its
//       message has been received whole.
//   R2  With tags (`tags`, counting_tags), those of the messages to come in their order: each is posted once, `mask`
//       applied. A tag whose message came unexpected before is left out: the program has found the message among its
//       unexpected ones.
//   R3  A tag may be posted although its message came unexpected (it was appended too late, or out of phase, rules
//       5.5). Such a tag is deleted, and the next one is appended when the deletion has completed. A deletion fails
//       when the entry has matched a later message with the same tag: then the next such tag is left out.
//   R4  Without them entry h always has the tag first_tag + h.
//   R5  Each operation carries the number of unexpected messages polled so far (rules 5.5). It is rounded down to a
//       multiple of policy.sync_lag + 1: the program reports them in batches.
//   R6  Policy (traces/receiver_policy.h), with tags (R2). Within each window of messages the tags are posted in its
//       order. A tag that is chosen to be unexpected is not posted: its receive finds the message among the unexpected
//       ones, unexpected_lag messages later. A tag that is chosen to be deleted is deleted once it is posted, and
//       posted again when the deletion has completed. After an append that is chosen for it comes an operation that
//       fails. It is a deletion of a handle that is never posted, or an append with a handle that the list does not
//       have, in turn.
//   R7  Wildcards: a tag is posted with its source's bits, or those of MPI's tag, left out. When such an entry matches
//       the message of another tag, that tag need not be posted any more: it is left out, or deleted (R3). The tag that
//       the entry was posted for is posted next.
//   R8  Each receive searches the unexpected messages first, as MPI asks: unexpected_depths() counts the messages that
//       the search passed, all of them when none matched.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/system/histogram.h"
#include "model/types/completion.h"
#include "model/types/splitmix.h"
#include "model/types/tag_matching.h"
#include "traces/receiver_policy.h"

namespace rxnic {

struct TagListParams {
  WqId srq = kNoWq;
  std::uint32_t srq_number = 0;
  std::uint32_t entries = 0;
  std::uint64_t mask = ~std::uint64_t{0};
  std::optional<std::vector<std::uint64_t>> tags;  // (R2)
  std::uint64_t counting_tags = 0;                 // instead of them: message n has MPI's tag n modulo this
  TagPolicy policy;                                // (R6)
  std::uint32_t max_tags = 1u << 20;               // of the device's list
  std::uint64_t seed = 1;
  std::uint64_t first_tag = 0;  // (R4)
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
    enum class Kind : std::uint8_t { kNone, kAppend, kDelete, kFailingDelete, kFailingAppend } kind = Kind::kNone;
    std::uint32_t entry = 0;
  };
  Action completed(const Cqe& cqe);
  // The operation, when it is given to the device. Nothing: there is no tag left to post.
  std::optional<TagOperation> operation(const Action& action);
  // What follows the operation that was given last (R6): to be asked until it is kNone.
  Action follow_up();
  const Histogram& unexpected_depths() const { return unexpected_depths_; }  // (R8)
  const TagListParams& params() const { return params_; }

  // A message that matched no tag (rules 5.6).
  static bool is_unexpected(const Cqe& cqe) {
    return cqe.opcode == CqeOpcode::kTagReceive && (cqe.flags & (kCqeTagMatch | kCqeTagDataValid)) == 0;
  }

 private:
  struct Entry {
    std::uint64_t tag = 0;     // that it was posted for, masked
    std::uint64_t number = 0;  // of its append
    bool posted = false;       // neither matched nor being deleted, as far as the program knows
    bool wildcard = false;
  };
  struct Deletion {
    std::uint32_t entry = 0;
    std::uint64_t tag = 0;  // of the entry
    bool again = false;     // by policy: it is posted again
  };
  Action unexpected(std::uint64_t tag);
  Action matched_other(std::uint64_t tag, std::uint64_t posted_for);
  bool is_deleted_again(std::uint32_t entry) const;
  Action displace(std::uint64_t tag);
  bool next_tag(std::uint32_t entry, std::uint64_t& tag);
  bool next_in_order(std::uint64_t& tag);
  bool knows_tags() const { return params_.tags || params_.counting_tags != 0; }
  bool has_more() const { return params_.counting_tags != 0 || next_ < params_.tags->size(); }
  std::uint64_t tag_of_next();
  void ask_late();
  std::uint64_t mask_of(Entry& entry);
  void take_out(std::uint32_t entry);

  TagListParams params_;
  std::vector<Entry> entries_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> posted_;    // tag, number of the append
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;  // entry of a posted tag
  std::unordered_map<std::uint64_t, std::uint32_t> came_;       // by tag: messages whose tag is left out (R2)
  std::deque<Deletion> deleting_;                               // in the order in which they complete
  std::uint64_t next_ = 0;                                      // message whose tag is next
  std::uint64_t appended_ = 0;
  std::uint64_t unexpected_ = 0;  // polled
  // (R6)
  Splitmix random_;
  std::vector<std::uint64_t> window_;                      // tags of the window, the next one last
  std::vector<std::uint64_t> again_;                       // to be posted before them, the next one last
  std::unordered_map<std::uint64_t, std::uint32_t> late_;  // by tag: receives that are not posted
  std::deque<std::uint64_t> asked_at_;                     // by unexpected message: number of messages then
  std::uint64_t messages_ = 0;                             // polled
  std::vector<Action> follow_ups_;                         // the next one last
  bool fail_append_ = false;                               // what fails next
  Histogram unexpected_depths_;
};

}  // namespace rxnic
