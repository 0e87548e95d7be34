// SPDX-License-Identifier: Apache-2.0
// How many files the simulator may have open: as many as it is allowed to (RLIMIT_NOFILE), as each program takes some.
//
//   R1  The limit is raised while a DescriptorLimit lives. A program that is started gets the one that there was
//       before: select() takes no descriptor of 1024 or more.
#pragma once

#include <sys/resource.h>

namespace rxnic {

class DescriptorLimit {
 public:
  DescriptorLimit();
  ~DescriptorLimit() { restore(); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  // In a child, too.
  void restore() const;

 private:
  rlimit before_{};
  bool raised_ = false;
};

}  // namespace rxnic
