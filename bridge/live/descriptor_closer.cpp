// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/descriptor_closer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace rxnic {

namespace {

// The link's text is the kernel's own: no program can choose it for another kind of file, as paths begin with "/".
bool closes_at_once(int descriptor) {
  if (fcntl(descriptor, F_GET_SEALS) >= 0) return true;  // a memfd
  char target[32];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t bytes = readlink(link.c_str(), target, sizeof target);
  const std::string_view kind(target, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return kind.starts_with("pipe:[") || kind == "anon_inode:[eventfd]";
}

}  // namespace

struct DescriptorCloser::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<channel::Descriptor> waiting;
  bool closes = false, over = false;

  void close_all() {
    for (std::unique_lock lock(mutex);;) {
      changed.wait(lock, [&] { return over || !waiting.empty(); });
      if (waiting.empty()) return;
      channel::Descriptor next = std::move(waiting.front());
      waiting.pop_front();
      closes = true;
      lock.unlock();
      next.reset();
      lock.lock();
      closes = false;
    }
  }
};

DescriptorCloser::DescriptorCloser() : shared_(std::make_shared<Shared>()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([shared = shared_] { shared->close_all(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DescriptorCloser::~DescriptorCloser() {
  bool idle = false;
  {
    const std::lock_guard guard(shared_->mutex);
    idle = !shared_->closes && shared_->waiting.empty();
    shared_->over = true;
    shared_->changed.notify_all();
  }
  if (idle) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void DescriptorCloser::take(channel::Descriptor descriptor) {
  if (!descriptor || closes_at_once(descriptor.get())) return;
  const linger none{};
  setsockopt(descriptor.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);  // ENOTSOCK: then not
  const std::lock_guard guard(shared_->mutex);
  shared_->waiting.push_back(std::move(descriptor));
  shared_->changed.notify_all();
}

std::size_t DescriptorCloser::waiting() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->waiting.size();
}

}  // namespace rxnic
