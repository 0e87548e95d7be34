// SPDX-License-Identifier: Apache-2.0
// Bytes by which the simulator makes sure that memory it reads is this process's (channel::Open).
//
//   R1  Random, and on a page that a child of fork gets filled with zeros: no other process has them.
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

 private:
  void* page_ = nullptr;
};

}  // namespace rxnic::verbs
