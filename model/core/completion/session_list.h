// SPDX-License-Identifier: Apache-2.0
// Lines with an open compression session, in the order in which they are to end: each ends the same time after it last
// grew.
#pragma once

#include <cstdint>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

class SessionList {
 public:
  explicit SessionList(std::uint32_t lines) : links_(std::size_t{lines} + 1) {
    for (Link& l : links_) l.next = kOut;
    links_[lines].next = links_[lines].previous = lines;
  }
  bool empty() const { return first() == end(); }
  std::uint32_t first() const { return links_.back().next; }
  Cycle first_ends() const { return links_[first()].ends; }  // kNever: empty
  // The line's session has begun, or has grown.
  void push_back(std::uint32_t line, Cycle ends) {
    remove(line);
    const std::uint32_t last = links_.back().previous;
    links_[line] = {end(), last, ends};
    links_[last].next = links_.back().previous = line;
  }
  // Does nothing when it is not in the list.
  void remove(std::uint32_t line) {
    if (line >= end() || links_[line].next == kOut) return;
    const Link l = links_[line];
    links_[l.previous].next = l.next;
    links_[l.next].previous = l.previous;
    links_[line].next = kOut;
  }

 private:
  static constexpr std::uint32_t kOut = 0xffffffff;
  struct Link {
    std::uint32_t next = kOut;
    std::uint32_t previous = 0;
    Cycle ends = kNever;
  };
  std::uint32_t end() const { return static_cast<std::uint32_t>(links_.size()) - 1; }
  std::vector<Link> links_;  // by line; behind the last one: the list's ends
};

}  // namespace rxnic
