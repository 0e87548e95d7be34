// SPDX-License-Identifier: Apache-2.0
#include "bridge/cm/agent.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <rdma/rdma_user_cm.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "bridge/verbs/control_path.h"

namespace rxnic::cm {

namespace {

constexpr int kConnectionsAtOnce = 64;

// What a descriptor that can be read is: the kind in the high half, the number in the low one.
enum class Source : std::uint32_t { kListener, kSignals, kCompletions, kEvents, kFile };
constexpr std::uint64_t tag(Source source, std::uint32_t number = 0) {
  return std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | number;
}

std::runtime_error failure(const char* what) { return std::runtime_error(std::string(what) + ": " + strerror(errno)); }

bool answer(int socket, std::span<const std::uint8_t> packet, std::span<const int> descriptors = {}) {
  return channel::send_packet(socket, packet, descriptors, channel::Waiting::kNo) == 0;
}

template <class T>
std::span<const std::uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

}  // namespace

Agent::Agent(channel::Descriptor listener) : listener_(std::move(listener)), poll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!poll_) throw failure("epoll_create1");
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  int count = 0;
  ibv_device** const devices = verbs::get_device_list(&count);
  std::vector<NicAddress> addresses;
  for (int n = 0; n < count; ++n) {
    ports_.push_back(std::make_unique<ManagementQp>(devices[n]));
    addresses.push_back(ports_.back()->address());
    watch(ports_.back()->completions(), tag(Source::kCompletions, static_cast<std::uint32_t>(n)));
    watch(ports_.back()->events(), tag(Source::kEvents, static_cast<std::uint32_t>(n)));
  }
  if (ports_.empty()) throw std::runtime_error("there is no NIC");
  manager_ = std::make_unique<Manager>(std::move(addresses), *this, static_cast<std::uint32_t>(now().count()));
  watch(listener_.get(), tag(Source::kListener));
  watch(signals_.get(), tag(Source::kSignals));
  idle_since_ = now();
}

// Its listener is the simulator's, too: who waits there waits for the next agent.
Agent::~Agent() {
  for (auto& [file, open] : files_) doorkeeper_.end(open.program, std::move(open.socket));
}

Time Agent::now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

bool Agent::is_watched(int descriptor, std::uint64_t what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = what;
  return epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Agent::watch(int descriptor, std::uint64_t what) {
  if (!is_watched(descriptor, what)) throw failure("epoll_ctl");
}

int Agent::wait_ms() const {
  using std::chrono::milliseconds;
  Time due = idle_since_ + kIdle;
  if (!files_.empty()) due = now() + std::chrono::hours(1);
  if (const auto next = manager_->next_due()) due = std::min(due, *next);
  if (!silent_.empty()) due = std::min(due, silent_.front().first);
  const auto left = std::chrono::ceil<milliseconds>(due - now());
  return static_cast<int>(std::max<milliseconds::rep>(0, left.count()));
}

void Agent::run() {
  while (!ends_) {
    epoll_event events[32];
    const int count = epoll_wait(poll_.get(), events, std::size(events), wait_ms());
    for (int n = 0; n < count && !ends_; ++n) {
      const auto source = static_cast<Source>(events[n].data.u64 >> 32);
      const auto number = static_cast<std::uint32_t>(events[n].data.u64);
      switch (source) {
        case Source::kListener:
          accept_all();
          break;
        case Source::kSignals:
          ends_ = true;
          break;
        case Source::kCompletions:
          ports_[number]->take_completions([&](const GidBytes& from, std::span<const std::uint8_t> mad) {
            manager_->receive(number, from, mad, now());
          });
          break;
        case Source::kEvents:
          ends_ = !ports_[number]->take_event();
          break;
        case Source::kFile: {
          const auto open = files_.find(File{number});
          if (open != files_.end() && !take_packet(open->first, open->second)) close(File{number});
          break;
        }
      }
    }
    manager_->run_timers(now());
    close_silent();
    const bool used = last_file_ > 0 || now() - idle_since_ >= kIdle;
    const bool sent = std::all_of(ports_.begin(), ports_.end(), [](const auto& port) { return port->all_sent(); });
    if (files_.empty() && !manager_->awaits_answers() && sent && used) return;
  }
}

// (R3)
void Agent::accept_all() {
  using Outcome = channel::Acceptor::Outcome;
  for (int n = 0; n < kConnectionsAtOnce; ++n) {
    channel::Descriptor socket;
    channel::Peer peer;
    const Outcome outcome = acceptor_.accept(listener_.get(), socket, peer);
    if (outcome == Outcome::kNone) return;
    const std::uint64_t program = static_cast<std::uint32_t>(peer.pid);
    const auto found = programs_.find(program);
    const bool has_room = found == programs_.end() || found->second < kMostOfProgram;
    const File file{last_file_ + 1};
    if (outcome != Outcome::kAccepted || !has_room ||
        !is_watched(socket.get(), tag(Source::kFile, static_cast<std::uint32_t>(file)))) {
      doorkeeper_.end(program, std::move(socket));
      continue;
    }
    ++last_file_;
    ++programs_[program];
    files_[file].socket = std::move(socket);
    files_[file].program = program;
    silent_.emplace_back(now() + kSilence, file);
  }
}

void Agent::close_silent() {
  for (; !silent_.empty() && silent_.front().first <= now(); silent_.pop_front()) {
    const auto open = files_.find(silent_.front().second);
    if (open != files_.end() && !open->second.greeted) close(open->first);
  }
}

// False: the connection has ended.
bool Agent::take_packet(File file, Open& open) {
  std::array<std::uint8_t, sizeof(Call) + kMaxCommandBytes> bytes;
  channel::Packet packet;
  channel::Passed passed;
  const int status = doorkeeper_.receive(open.program, open.socket.get(), bytes, 1, packet, passed);
  if (status != 0) return status == EAGAIN || status == EBUSY;
  const std::span<std::uint8_t> data = std::span(bytes).first(packet.bytes);
  return open.greeted ? carry_out(file, open, data, passed) : greet(file, open, data);
}

bool Agent::greet(File file, Open& open, std::span<const std::uint8_t> packet) {
  Hello hello;
  if (packet.size() != sizeof hello) return false;
  std::memcpy(&hello, packet.data(), sizeof hello);
  if (hello.version != kCmVersion) return false;
  const bool sees_all = hello.only_nic == Hello{}.only_nic;
  if (!sees_all && hello.only_nic >= ports_.size()) {  // (R4)
    answer(open.socket.get(), bytes_of(CallReply{ENODEV, 0}));
    return false;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const channel::Descriptor theirs(ends[0]);
  open.events.reset(ends[1]);
  if (!channel::identify(theirs.get(), open.pipe)) return false;
  fcntl(open.events.get(), F_SETFL, O_NONBLOCK);
  std::optional<std::uint32_t> only;
  if (!sees_all) only = hello.only_nic;
  manager_->open(file, only, open.program);
  open.greeted = true;
  const int end = theirs.get();
  return answer(open.socket.get(), bytes_of(CallReply{}), {&end, 1});
}

// The file whose descriptor this is: its program's end of the pipe. (R5)
std::optional<File> Agent::file_of(const channel::FileIdentity& passed) const {
  for (const auto& [file, open] : files_) {
    if (open.greeted && open.pipe.device == passed.device && open.pipe.number == passed.number) return file;
  }
  return {};
}

bool Agent::carry_out(File file, Open& open, std::span<std::uint8_t> packet, const channel::Passed& passed) {
  Call call;
  if (packet.size() < sizeof call) return false;
  std::memcpy(&call, packet.data(), sizeof call);
  if (packet.size() != sizeof call + call.in) return false;  // (R2)
  const bool migrates = call.command == RDMA_USER_CM_CMD_MIGRATE_ID;
  if (passed.count > 0 && !migrates) return false;
  const std::span<std::uint8_t> in = packet.subspan(sizeof call);
  int status = 0;
  if (migrates) {
    const std::optional<File> from = passed.count > 0 ? file_of(passed.files[0]) : std::nullopt;
    rdma_ucm_migrate_id command;
    if (from && in.size() >= sizeof command) {
      std::memcpy(&command, in.data(), sizeof command);
      command.fd = static_cast<std::uint32_t>(*from);
      std::memcpy(in.data(), &command, sizeof command);
    } else {
      status = EINVAL;
    }
  }
  std::vector<std::uint8_t> reply;
  const std::size_t out = std::min<std::size_t>(call.out, kMaxReplyBytes);
  if (status == 0) status = manager_->command(file, call.command, in, out, now(), reply);
  if (status != 0) reply.clear();
  const CallReply head{status, static_cast<std::uint32_t>(reply.size())};
  const auto front = bytes_of(head);
  reply.insert(reply.begin(), front.begin(), front.end());
  return answer(open.socket.get(), reply);
}

void Agent::close(File file) {
  manager_->close(file, now());
  const auto open = files_.find(file);
  const auto program = programs_.find(open->second.program);
  if (--program->second == 0) programs_.erase(program);
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, open->second.socket.get(), nullptr);  // it may be closed later
  doorkeeper_.end(open->second.program, std::move(open->second.socket));
  files_.erase(open);
  idle_since_ = now();
}

void Agent::send(std::uint32_t nic, std::uint8_t gid_index, const GidBytes& to, const Mad& mad) {
  ports_[nic]->send(gid_index, to, mad);
}

bool Agent::is_of_host(const GidBytes& ip) const {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return false;
  bool found = false;
  for (const ifaddrs* one = interfaces; one != nullptr && !found; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const std::size_t bytes = one->ifa_addr->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    const auto address = endpoint_of({reinterpret_cast<const std::uint8_t*>(one->ifa_addr), bytes});
    found = address && address->ip == ip;
  }
  freeifaddrs(interfaces);
  return found;
}

// A program that has not read 64 Ki events gets no further bytes, and reads on when it has read these.
void Agent::notify(File file) {
  const char one = 1;
  const auto open = files_.find(file);
  if (open == files_.end()) return;
  [[maybe_unused]] const ssize_t written = ::write(open->second.events.get(), &one, 1);
}

// Takes back the bytes of events that are gone. There may be fewer than events: a reader has taken one, and asks for
// its event next (cm_channel.h R1).
void Agent::retract(File file, std::size_t left) {
  const auto open = files_.find(file);
  int bytes = 0;
  if (open == files_.end() || ioctl(open->second.events.get(), FIONREAD, &bytes) != 0) return;
  if (static_cast<std::size_t>(bytes) <= left) return;
  const std::string link = "/proc/self/fd/" + std::to_string(open->second.events.get());
  const channel::Descriptor reader(::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::vector<char> gone(static_cast<std::size_t>(bytes) - left);
  [[maybe_unused]] const ssize_t got = ::read(reader.get(), gone.data(), gone.size());
}

}  // namespace rxnic::cm
