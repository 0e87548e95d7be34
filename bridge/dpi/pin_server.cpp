// SPDX-License-Identifier: Apache-2.0
#include "bridge/dpi/pin_server.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

namespace rxnic::dpi {

namespace {

constexpr int kSignalStatus = 128;  // what a shell adds to the number of a signal
constexpr int kDiffers = 4, kUnknown = 1;

}  // namespace

PinPeer& PinPeer::operator=(PinPeer&& other) noexcept {
  if (this == &other) return *this;
  end();
  socket_ = std::move(other.socket_);
  doorkeeper_ = other.doorkeeper_;
  program_ = other.program_;
  return *this;
}

void PinPeer::end() {
  if (socket_) doorkeeper_->end(program_, std::move(socket_));
}

bool PinPeer::receive(void* data, std::size_t bytes) {
  channel::Packet packet;
  channel::Passed none;
  const std::span<std::uint8_t> to{static_cast<std::uint8_t*>(data), bytes};
  const int status = doorkeeper_->receive(program_, socket_.get(), to, 0, packet, none);
  if (status == 0 && packet.bytes == bytes) return true;
  if (status != EAGAIN) end();
  return false;
}

bool PinPeer::send(const void* data, std::size_t bytes) {  // the socket is non-blocking
  if (send_packet(socket_.get(), data, bytes)) return true;
  end();
  return false;
}

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
  if (!peer_) return;
  if (failure_.empty()) {
    peer_.send(out_.data(), out_.size() * kWordBytes);
    return;
  }
  std::string text(kWordBytes, '\1');
  text += failure_;
  told_ = peer_.send(text.data(), text.size());
  peer_.end();
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

bool PinModule::receive() { return peer_.receive(in_.data(), in_.size() * kWordBytes); }

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

void PinServer::accept() {
  channel::Descriptor socket;
  channel::Peer peer;
  const channel::Acceptor::Outcome outcome = acceptor_.accept(listener_.get(), socket, peer);
  if (!socket) return;
  PinPeer made(std::move(socket), doorkeeper_, static_cast<std::uint32_t>(peer.pid));
  if (outcome != channel::Acceptor::Outcome::kAccepted) return;  // R4
  if (silent_.size() == kMostSilent) silent_.erase(silent_.begin());
  silent_.push_back(std::move(made));
}

// rxnic's first packet; whoever sends another one is refused.
void PinServer::greet(PinPeer& peer) {
  PinRecord wanted;
  if (!peer.receive(&wanted, sizeof wanted)) return;
  if (wanted.kind != PinKind::kModule) return peer.end();
  const auto free = std::find_if(modules_.begin(), modules_.end(), [&wanted](const auto& module) {
    return !module->peer_ && module->block_ == name_of(wanted);
  });
  const std::vector<PinRecord> all =
      free == modules_.end() ? PinModule(name_of(wanted)).records(wanted.value) : (*free)->records(wanted.value);
  const bool sent = peer.send(all.data(), all.size() * sizeof(PinRecord));
  if (!sent || free == modules_.end() || wanted.value != kPinsVersion) return peer.end();
  connected_ = true;
  (*free)->peer_ = std::move(peer);
}

PinModule* PinServer::wait() {
  constexpr std::size_t kOwn = 2;  // descriptors in front of those of the modules
  std::vector<pollfd> all;
  while (true) {
    const bool idle = std::none_of(modules_.begin(), modules_.end(), [](const auto& m) { return bool{m->peer_}; });
    if (idle && (child_ == 0 ? connected_ : command_ended_)) return nullptr;  // R3
    all = {{listener_.get(), POLLIN, 0}, {command_ended_ ? -1 : child_end_.get(), POLLIN, 0}};
    for (const auto& module : modules_) all.push_back({module->peer_.get(), POLLIN, 0});
    for (const PinPeer& peer : silent_) all.push_back({peer.get(), POLLIN, 0});
    if (poll(all.data(), all.size(), -1) < 0 && errno != EINTR) return nullptr;
    command_ended_ |= all[1].revents != 0;
    for (std::size_t n = 0; n < silent_.size(); ++n) {
      if (all[kOwn + modules_.size() + n].revents != 0) greet(silent_[n]);
    }
    std::erase_if(silent_, [](const PinPeer& peer) { return !peer; });
    if (all[0].revents != 0) accept();
    for (std::size_t n = 0; n < modules_.size(); ++n) {
      if (all[kOwn + n].revents != 0 && modules_[n]->receive()) return modules_[n].get();
    }
  }
}

int PinServer::close() {
  acceptor_.close(listener_, doorkeeper_);
  silent_.clear();
  int untold = 0;
  for (const auto& module : modules_) {
    module->peer_.end();
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
