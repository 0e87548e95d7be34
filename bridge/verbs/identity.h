// SPDX-License-Identifier: Apache-2.0
// Bytes by which the simulator makes sure that memory it reads or writes is this process's (channel::Open).
//
//   R1  Random, and on a page that a child of fork does not get: no other process has them.
//   R2  The page is at a random place, too. It is one of 2^28 in the part of the address space where programs have
//       their libraries, under the sanitizers as well. So another process has no page there, nor has this one when it
//       has executed something else. The simulator writes these bytes first: when the kernel finds no page, the memory
//       is the wrong one.
#pragma once

#include <array>
#include <cstdint>

#include "bridge/channel/protocol.h"

namespace rxnic::verbs {

class IdentityPage {
 public:
  IdentityPage() = default;
  IdentityPage(const IdentityPage&) = delete;
  IdentityPage& operator=(const IdentityPage&) = delete;
  ~IdentityPage();
  // Says in `open` where they are and what; nowhere when they cannot be made.
  void make(channel::Open& open);
  // In a child of fork, which does not have the page.
  void become_child() { page_ = nullptr; }

 private:
  void* page_ = nullptr;
};

}  // namespace rxnic::verbs
