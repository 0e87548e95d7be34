// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/live_client.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

namespace rxnic {

namespace {

std::string link_of(int descriptor) {
  char target[64];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t bytes = readlink(link.c_str(), target, sizeof target);
  return std::string(target, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
}

bool is_eventfd(int descriptor) { return link_of(descriptor) == "anon_inode:[eventfd]"; }

// /proc/PID/mem of whichever process: another file could block its reader.
bool is_process_memory(int descriptor) {
  struct statfs system;
  return link_of(descriptor).ends_with("/mem") && fstatfs(descriptor, &system) == 0 &&
         system.f_type == PROC_SUPER_MAGIC;
}

std::string memory_of(pid_t pid) { return "/proc/" + std::to_string(pid) + "/mem"; }

// Whether it is of that process: the same file. As long as it is open, its number is not another's.
bool is_memory_of(int descriptor, pid_t pid) {
  struct stat given, its_own;
  return link_of(descriptor).ends_with(memory_of(pid)) && fstat(descriptor, &given) == 0 &&
         stat(memory_of(pid).c_str(), &its_own) == 0 && given.st_dev == its_own.st_dev &&
         given.st_ino == its_own.st_ino;
}

bool has_ended(int process) {
  pollfd end{process, POLLIN, 0};
  return poll(&end, 1, 0) != 0;
}

}  // namespace

int EventPipe::open(int descriptor) {  // (R2)
  // Not a named one: a file system in user space could make its opening wait.
  if (!link_of(descriptor).starts_with("pipe:[")) return EINVAL;
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  end_.reset(::open(link.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  return end_ ? 0 : errno;
}

bool EventPipe::write(const channel::EventRecord& event, bool may_wait) {
  if (!may_wait && !flush()) return false;
  backlog_.push_back(event);
  if (flush() || may_wait) return true;
  backlog_.pop_back();
  return false;
}

bool EventPipe::flush() {
  using channel::EventRecord;
  std::array<EventRecord, PIPE_BUF / sizeof(EventRecord)> block;  // a write of at most PIPE_BUF bytes is atomic
  while (!backlog_.empty()) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(backlog_.size(), block.size()));
    std::copy_n(backlog_.begin(), count, block.begin());
    if (::write(end_.get(), block.data(), static_cast<std::size_t>(count) * sizeof(EventRecord)) < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return false;
      backlog_.clear();  // EPIPE: there is no reader
      return true;
    }
    backlog_.erase(backlog_.begin(), backlog_.begin() + count);
    written_ += static_cast<std::size_t>(count);
  }
  return true;
}

void EventPipe::discard(channel::Request frees, std::uint32_t number) {  // (R3)
  using channel::EventRecord;
  const auto goes = [&](const EventRecord& e) { return e.number == number && channel::freed_by(e.kind) == frees; };
  const std::size_t most = backlog_.size();
  std::erase_if(backlog_, goes);
  int bytes = 0;
  if (ioctl(end_.get(), FIONREAD, &bytes) != 0) return;
  const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(EventRecord);
  // More than fit: the program has made the pipe larger, and its order would suffer. More than were written: it has
  // written some itself.
  if (count == 0 || count > EventBudget::kOfClient || count > written_) return;
  written_ = 0;
  std::vector<EventRecord> read_back(count);
  {
    const std::string link = "/proc/self/fd/" + std::to_string(end_.get());
    const channel::Descriptor reader(::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const ssize_t got = ::read(reader.get(), read_back.data(), count * sizeof(EventRecord));  // all at once
    read_back.resize(got < 0 ? 0
                             : static_cast<std::size_t>(got) / sizeof(EventRecord));  // less: the program reads, too
  }
  std::erase_if(read_back, goes);
  backlog_.insert(backlog_.begin(), read_back.begin(), read_back.end());
  // The room that there was for them is gone only when the program has written meanwhile.
  if (!flush() && backlog_.size() > most) backlog_.resize(most);
}

int LiveClient::open(channel::Received& request, std::string& why) {
  auto& [mapping, wake, events, own_memory] = request.descriptors;
  if (request.descriptor_count != channel::kMaxDescriptors) {
    why = std::to_string(request.descriptor_count) + " descriptors came with the request to open a NIC, expected " +
          std::to_string(channel::kMaxDescriptors);
    return EINVAL;
  }
  if (const int status = mapping_.open(mapping.get(), why); status != 0) return status;
  if (!is_eventfd(wake.get())) {
    why = "the second descriptor of the request to open a NIC is no eventfd";
    return EINVAL;
  }
  if (const int status = events_.open(events.get()); status != 0) {
    why = "the third descriptor of the request to open a NIC is no pipe that can be written";
    return status;
  }
  wake_ = std::move(wake);
  identity_at_ = request.message.body.open.identity_at;
  identity_ = request.message.body.open.identity;
  return pid_ == 0 ? 0 : open_memory(std::move(own_memory), why);
}

// R5. What is opened here is kept: of the memory that the program has while it waits for the reply.
int LiveClient::open_memory(channel::Descriptor passed, std::string& why) {
  maps_.reset(::open(("/proc/" + std::to_string(pid_) + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  if (!maps_ && (errno == EMFILE || errno == ENFILE)) {
    const int status = errno;
    why = "the simulator has no file descriptor left";
    return status;
  }
  if (is_process_memory(passed.get())) {
    if (is_memory_of(passed.get(), pid_)) {
      own_memory_ = std::move(passed);
    } else {
      own_memory_.reset(::open(memory_of(pid_).c_str(), O_RDWR | O_CLOEXEC));
      Identity found{};
      const auto at = static_cast<off_t>(identity_at_);
      if (identity_at_ == 0 || pread(own_memory_.get(), found.data(), found.size(), at) != ssize_t{sizeof found} ||
          found != identity_) {
        own_memory_.reset();
      }
    }
  }
  if (!has_ended(process_)) return 0;  // its number was nobody else's until now
  why = "its process has ended";
  return ESRCH;
}

void LiveClient::woken() {
  std::uint64_t count;
  iovec data{&count, sizeof count};
  [[maybe_unused]] const ssize_t bytes = preadv2(wake_.get(), &data, 1, -1, RWF_NOWAIT);  // (R2)
}

int LiveClient::add_channel(int descriptor, std::uint32_t& number) {
  if (channels_.size() >= kMostChannels) return EMFILE;
  EventPipe pipe;
  if (const int status = pipe.open(descriptor); status != 0) return status;
  number = ++last_channel_;
  channels_.emplace(number, std::move(pipe));
  return 0;
}

EventPipe* LiveClient::pipe_of(std::uint32_t channel) {
  if (channel == 0) return &events_;
  const auto found = channels_.find(channel);
  return found == channels_.end() ? nullptr : &found->second;
}

void LiveClient::count(std::uint32_t channel, const EventPipe& pipe, std::size_t before) {
  const std::size_t more = pipe.waiting() - before;  // modulo 2^64
  waiting_ += more;
  budget_.waiting += more;
  if (before != 0 || pipe.waiting() == 0) return;
  if (std::find(full_.begin(), full_.end(), channel) == full_.end()) full_.push_back(channel);
}

void LiveClient::remove_channel(std::uint32_t number) {
  const auto found = channels_.find(number);
  if (found == channels_.end()) return;
  waiting_ -= found->second.waiting();
  budget_.waiting -= found->second.waiting();
  std::erase(full_, number);
  channels_.erase(found);
}

bool LiveClient::notify(std::uint32_t channel, const channel::EventRecord& event) {
  EventPipe* const pipe = pipe_of(channel);
  if (pipe == nullptr) return true;
  const bool may_wait =
      waiting_ < EventBudget::kOfClient && (waiting_ < EventBudget::kShare || budget_.waiting < EventBudget::kMost);
  const std::size_t before = pipe->waiting();
  told_.insert({{channel::freed_by(event.kind), event.number}, channel});
  const bool kept = pipe->write(event, may_wait);
  count(channel, *pipe, before);
  return kept;
}

bool LiveClient::flush() {
  for (std::size_t n = std::min(full_.size(), kTriedAtOnce); n > 0; --n) {
    const std::uint32_t channel = full_.front();
    full_.pop_front();
    EventPipe& pipe = *pipe_of(channel);
    const std::size_t before = pipe.waiting();
    if (!pipe.flush()) full_.push_back(channel);
    count(channel, pipe, before);
  }
  return full_.empty();
}

void LiveClient::discard(channel::Request frees, std::uint32_t number) {
  const std::pair object{frees, number};
  for (auto told = told_.lower_bound({object, 0}); told != told_.end() && told->first == object;) {
    const std::uint32_t channel = told->second;
    told = told_.erase(told);
    EventPipe* const pipe = pipe_of(channel);
    if (pipe == nullptr) continue;
    const std::size_t before = pipe->waiting();
    pipe->discard(frees, number);
    count(channel, *pipe, before);
  }
}

}  // namespace rxnic
