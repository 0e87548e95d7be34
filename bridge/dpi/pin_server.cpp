// SPDX-License-Identifier: Apache-2.0
#include "bridge/dpi/pin_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rxnic::dpi {

namespace {

constexpr int kSignalStatus = 128;  // what a shell adds to the number of a signal
constexpr int kDiffers = 4, kUnknown = 1;

}  // namespace

void PinModule::add(std::string_view name, PinKind kind, std::uint64_t value) {
  PinRecord record;
  record.kind = kind;
  record.value = value;
  if (!set_name(record, name)) return fail("a name that is too long: " + std::string(name));
  records_.push_back(record);
}

void PinModule::parameter(std::string_view name, std::uint64_t value) { add(name, PinKind::kParameter, value); }

void PinModule::signal(std::string_view name, PinKind direction, unsigned bits) {
  add(name, direction, bits);
  std::vector<std::uint32_t>& words = direction == PinKind::kInput ? in_ : out_;
  signals_.push_back({direction, words.size(), words_of_pin(bits)});
  words.resize(words.size() + words_of_pin(bits));
  if (words.size() * kWordBytes > kMaxPacketBytes) fail(std::string(name) + ": too many bits in all");
}

std::uint32_t* PinModule::word_at(int number, int word, PinKind direction) {
  const auto n = static_cast<std::size_t>(number), w = static_cast<std::size_t>(word);
  if (n >= signals_.size() || w >= signals_[n].words || signals_[n].direction != direction) {
    fail("the testbench asks for word " + std::to_string(word) + " of signal " + std::to_string(number) +
         ", which is not " + (direction == PinKind::kInput ? "an input" : "an output"));
    return nullptr;
  }
  return &(direction == PinKind::kInput ? in_ : out_)[signals_[n].first + w];
}

std::uint32_t PinModule::get(int number, int word) {
  const std::uint32_t* const at = word_at(number, word, PinKind::kInput);
  return at == nullptr ? 0 : *at;
}

void PinModule::put(int number, int word, std::uint32_t value) {
  std::uint32_t* const at = word_at(number, word, PinKind::kOutput);
  if (at != nullptr) *at = value;
}

void PinModule::fail(std::string_view why) {
  if (failure_.empty())
    failure_ = why.empty() ? "the testbench has found something wrong" : why.substr(0, kMaxPacketBytes / 2);
}

void PinModule::answer() {
  if (!socket_) return;
  if (failure_.empty()) {
    if (!send_packet(socket_.get(), out_.data(), out_.size() * kWordBytes)) socket_.reset();
    return;
  }
  std::string text(kWordBytes, '\1');
  text += failure_;
  told_ = send_packet(socket_.get(), text.data(), text.size());
  socket_.reset();
}

std::vector<PinRecord> PinModule::records(std::uint64_t version) const {
  PinRecord module;
  set_name(module, block_);
  module.kind = PinKind::kModule;
  module.value = kPinsVersion;
  std::vector<PinRecord> all{module};
  if (version == kPinsVersion) all.insert(all.end(), records_.begin(), records_.end());
  return all;
}

bool PinModule::receive() {
  const std::size_t bytes = in_.size() * kWordBytes;
  if (receive_packet(socket_.get(), in_.data(), bytes) == bytes) return true;
  socket_.reset();
  return false;
}

bool PinServer::open(const std::string& address, std::string& error) { return listener_.open(address, error); }

PinModule& PinServer::add(const std::string& block) {
  return *modules_.emplace_back(std::make_unique<PinModule>(block));
}

bool PinServer::start(const std::string& command, std::string& error) {
  if (child_ != 0) {
    error = "a command runs already";
    return false;
  }
  const char* const arguments[] = {"sh", "-c", command.c_str(), nullptr};
  const int failed = posix_spawn(&child_, "/bin/sh", nullptr, nullptr, const_cast<char**>(arguments), environ);
  if (failed == 0) {
    child_end_.reset(static_cast<int>(syscall(SYS_pidfd_open, child_, 0)));
    if (child_end_) return true;
    error = "cannot watch " + command + ": " + std::strerror(errno);
    kill(child_, SIGKILL);
    close();
    return false;
  }
  child_ = 0;
  error = "cannot start " + command + ": " + std::strerror(failed);
  return false;
}

// rxnic's first packet; whoever sends another one is refused.
void PinServer::accept() {
  channel::Descriptor socket = listener_.accept();
  if (!socket) return;
  fcntl(socket.get(), F_SETFL, 0);  // from here on it blocks; for the first packet not long
  const timeval limit{1, 0}, none{};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  PinRecord wanted;
  if (receive_packet(socket.get(), &wanted, sizeof wanted) != sizeof wanted || wanted.kind != PinKind::kModule) return;
  const auto free = std::find_if(modules_.begin(), modules_.end(), [&wanted](const auto& module) {
    return !module->socket_ && module->block_ == name_of(wanted);
  });
  const std::vector<PinRecord> all =
      free == modules_.end() ? PinModule(name_of(wanted)).records(wanted.value) : (*free)->records(wanted.value);
  const bool sent = send_packet(socket.get(), all.data(), all.size() * sizeof(PinRecord));
  if (!sent || free == modules_.end() || wanted.value != kPinsVersion) return;
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
  connected_ = true;
  (*free)->socket_ = std::move(socket);
}

PinModule* PinServer::wait() {
  constexpr std::size_t kOwn = 2;  // descriptors in front of those of the modules
  std::vector<pollfd> all;
  while (true) {
    const bool idle = std::none_of(modules_.begin(), modules_.end(), [](const auto& m) { return bool{m->socket_}; });
    if (child_ == 0 && connected_ && idle) return nullptr;
    all = {{listener_.get(), POLLIN, 0}, {child_end_.get(), POLLIN, 0}};
    for (const auto& module : modules_) all.push_back({module->socket_.get(), POLLIN, 0});
    if (poll(all.data(), all.size(), -1) < 0 && errno != EINTR) return nullptr;
    for (std::size_t n = 0; n < modules_.size(); ++n) {
      if (all[kOwn + n].revents != 0 && modules_[n]->receive()) return modules_[n].get();
    }
    if (all[0].revents != 0) accept();
    if (all[1].revents != 0 && idle) return nullptr;
  }
}

int PinServer::close() {
  listener_.close();
  int untold = 0;
  for (const auto& module : modules_) {
    module->socket_.reset();
    if (module->failure_.empty() || std::exchange(module->told_, true)) continue;
    std::fprintf(stderr, "rxnic: %s: %s\n", module->block_.c_str(), module->failure_.c_str());
    untold = kDiffers;
  }
  const pid_t child = std::exchange(child_, 0);
  if (child == 0) return untold;
  int status = 0;
  pid_t ended;
  do ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0) return kUnknown;  // the simulator has taken it away
  const int of_command = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalStatus + WTERMSIG(status);
  return of_command != 0 ? of_command : untold;
}

}  // namespace rxnic::dpi
