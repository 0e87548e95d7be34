// SPDX-License-Identifier: Apache-2.0
// What the examples do when something fails that cannot fail: they end.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace example {

template <class T>
T check(T result, const char* what) {
  if (!result) {
    std::perror(what);
    std::exit(1);
  }
  return result;
}
inline void must(int error, const char* what) {  // 0, or -1 and errno, or a positive errno
  if (error > 0) errno = error;
  check(error == 0, what);
}

}  // namespace example
