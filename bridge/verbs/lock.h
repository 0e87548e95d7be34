// SPDX-License-Identifier: Apache-2.0
// A mutex for std::lock_guard. std::mutex would bring exceptions, and with them libstdc++, into the user's program.
#pragma once

#include <pthread.h>

namespace rxnic::verbs {

class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_destroy(&mutex_); }
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  // In a forked child: a thread that held it does not exist there.
  void reset() { mutex_ = PTHREAD_MUTEX_INITIALIZER; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace rxnic::verbs
