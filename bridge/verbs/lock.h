// SPDX-License-Identifier: Apache-2.0
// A mutex for std::lock_guard. std::mutex would bring exceptions, and with them libstdc++, into the user's program.
// It is never destroyed: the library's destructor function locks one after the objects of the program have been
// destroyed, and threads may still post then. A mutex of glibc holds nothing that would have to be freed.
#pragma once

#include <pthread.h>

namespace rxnic::verbs {

class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  // In a forked child: a thread that held it does not exist there.
  void reset() { mutex_ = PTHREAD_MUTEX_INITIALIZER; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace rxnic::verbs
