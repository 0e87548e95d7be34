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
#include <thread>

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
  bool running = false, over = false;
};

DescriptorCloser::DescriptorCloser() : shared_(std::make_shared<Shared>()) {}

DescriptorCloser::~DescriptorCloser() {
  const std::lock_guard guard(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_all();
}

void DescriptorCloser::take(channel::Descriptor descriptor) {
  if (!descriptor || closes_at_once(descriptor.get())) return;
  const linger none{};
  setsockopt(descriptor.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);  // ENOTSOCK: then not
  const std::lock_guard guard(shared_->mutex);
  shared_->waiting.push_back(std::move(descriptor));
  shared_->changed.notify_all();
  if (std::exchange(shared_->running, true)) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_] {
    for (std::unique_lock lock(shared->mutex);;) {
      shared->changed.wait(lock, [&] { return shared->over || !shared->waiting.empty(); });
      if (shared->waiting.empty()) return;
      channel::Descriptor next = std::move(shared->waiting.front());
      shared->waiting.pop_front();
      lock.unlock();
      next.reset();
      lock.lock();
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::size_t DescriptorCloser::waiting() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->waiting.size();
}

}  // namespace rxnic
