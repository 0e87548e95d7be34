// SPDX-License-Identifier: Apache-2.0
// The program's side of one TM SRQ when the receives are given with their times, as those of an MPI rank. Without time.
//
//   R1  A receive searches the unexpected messages first, the oldest one first. When one matches, the receive takes it,
//       and nothing is posted. Otherwise its tag is appended to the list, under the lowest handle that is free.
//   R2  When no handle is free, the receive waits for one, and so do those behind it.
//   R3  A message may come unexpected although its receive has been posted (appended too late, or out of phase, rules
//       5.5). The oldest posted receive that matches is deleted, and has taken the message when the deletion has
//       completed. A deletion fails when the receive has matched a later message: then the earlier one stays
//       unexpected, in its place.
//   R4  Each operation carries the number of unexpected messages polled so far (rules 5.5).
//   R5  unexpected_depths(): of each receive, the unexpected messages that its search passed; all of them when none
//       matched.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "model/system/tag_program.h"
#include "traces/host_plan.h"

namespace rxnic {

class TagSchedule {
 public:
  using Action = TagProgram::Action;

  // `params` has the SRQ, the entries, and their buffers. `posts` are in the order of their times.
  TagSchedule(const TagListParams& params, std::vector<TagPost> posts);

  // When the next receive is due, in ps; nothing: there is none, or it waits for a handle (R2).
  std::optional<std::uint64_t> next_ps() const;
  // The next receive's search: an append, or nothing. Precondition: next_ps() has a value.
  Action post();
  Action completed(const Cqe& cqe);
  std::optional<TagOperation> operation(const Action& action);
  Action follow_up() { return {}; }
  const Histogram& unexpected_depths() const { return unexpected_depths_; }
  const TagListParams& params() const { return params_; }

 private:
  struct Message {
    std::uint64_t tag = 0;
    std::uint64_t number = 0;
  };
  struct Receive {
    std::uint64_t tag = 0, mask = 0;
    std::uint64_t number = 0;
    bool posted = false;
  };
  struct Deletion {
    std::uint32_t handle = 0;
    Message message;
  };
  void keep(const Message& message);

  TagListParams params_;
  std::vector<TagPost> posts_;
  std::size_t next_ = 0;
  std::vector<Receive> receives_;                                                        // by handle
  std::map<std::uint64_t, std::uint32_t> posted_;                                        // by age: handle
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;  // handles
  std::deque<Message> unexpected_;                                                       // by age
  std::deque<Deletion> deleting_;  // in the order in which they complete
  std::uint64_t appended_ = 0;
  std::uint64_t came_ = 0;  // unexpected messages polled
  Histogram unexpected_depths_;
};

}  // namespace rxnic
