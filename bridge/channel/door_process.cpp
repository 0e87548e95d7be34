// SPDX-License-Identifier: Apache-2.0
#include "bridge/channel/door_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/channel/doorkeeper.h"

namespace rxnic::channel {

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kSocket = 0;
constexpr std::size_t kStack = 64 * 1024;

// A child that has not ended although it has answered.
struct Left {
  pid_t process;
  std::uint64_t owner;
  SteadyClock::time_point since;
};

// What the doorkeeper and its child share in their memory; only one of them runs at a time.
struct State {
  std::vector<Left> left;
  bool over = false;        // nobody asks any more
  bool strange = false;     // the child has something whose close may take long
  std::uint64_t owner = 0;  // who has passed it
  std::array<std::uint8_t, Doorkeeper::kMostBytes> bytes;
};

// Which file system it is cannot be asked (R2), but a list of the program's mounts names the device of each.
bool is_proc(std::uint64_t device, pid_t program) {
  FileIdentity own;
  const Descriptor self{open("/proc/self/stat", O_RDONLY | O_CLOEXEC)};
  if (self && identify(self.get(), own) && own.device == device) return true;
  const std::string list = "/proc/" + std::to_string(program) + "/mountinfo";
  const std::string wanted = " " + std::to_string(device >> 32) + ":" + std::to_string(device & 0xffffffff) + " ";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(list.c_str(), "re"), std::fclose);
  if (!file) return false;
  char* line = nullptr;
  std::size_t room = 0;
  bool found = false;
  while (!found && getline(&line, &room, file.get()) >= 0) {  // "36 35 0:34 / /proc rw shared:1 - proc proc rw"
    const std::string_view text(line);
    const std::size_t at = text.find(' ', text.find(' ') + 1);
    found = at != text.npos && text.substr(at).starts_with(wanted) && text.find(" - proc ") != text.npos;
  }
  std::free(line);
  return found;
}

// Whether its close is over at once. The link's text is the kernel's own: no program can choose it for another kind of
// file, as paths begin with "/".
bool is_quick(int descriptor, const FileIdentity& file, int connection) {
  if (fcntl(descriptor, F_GET_SEALS) >= 0) return true;  // a memfd, or another file of a tmpfs
  char target[64];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t bytes = readlink(link.c_str(), target, sizeof target);
  const std::string_view kind(target, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  if (kind.starts_with("pipe:[") || kind == "anon_inode:[eventfd]") return true;
  Peer peer;
  return kind.ends_with("/mem") && peer_of(connection, peer) && is_proc(file.device, peer.pid);
}

// EBUSY or EDQUOT: it has too many. (R4)
int room_for(const State& state, std::uint64_t owner) {
  std::size_t count = 0;
  auto oldest = SteadyClock::time_point::max();
  for (const Left& one : state.left) {
    if (one.owner != owner) continue;
    ++count;
    oldest = std::min(oldest, one.since);
  }
  if (count < Doorkeeper::kMostOfOwner) return 0;
  return SteadyClock::now() - oldest < Doorkeeper::kPatience ? EBUSY : EDQUOT;
}

void answer(State& state, const DoorRequest& request, int connection) {
  DoorAnswer answer;
  Packet packet;
  PacketDescriptors came;
  std::array<int, kMaxDescriptors> quick;
  std::size_t quick_count = 0;
  answer.status = room_for(state, request.owner);
  if (answer.status == 0) {
    const std::span<std::uint8_t> to = std::span(state.bytes).first(request.bytes);
    answer.status = receive_packet(connection, to, came, request.most, packet, Waiting::kNo);
    state.owner = request.owner;
  }
  if (answer.status != 0) {
    packet.bytes = 0;
    state.strange = packet.descriptors > 0;
  } else {
    answer.descriptors = static_cast<std::uint32_t>(packet.descriptors);
    for (std::size_t n = 0; n < packet.descriptors; ++n) {
      identify(came[n].get(), answer.files[n]);
      answer.quick[n] = is_quick(came[n].get(), answer.files[n], connection);
      if (answer.quick[n]) quick[quick_count++] = came[n].get();
      state.strange |= !answer.quick[n];
    }
  }
  std::array<std::uint8_t, sizeof answer + Doorkeeper::kMostBytes> all;
  std::memcpy(all.data(), &answer, sizeof answer);
  std::memcpy(all.data() + sizeof answer, state.bytes.data(), packet.bytes);
  send_packet(kSocket, std::span(all).first(sizeof answer + packet.bytes), std::span(quick).first(quick_count),
              Waiting::kYes);
  for (Descriptor& one : came) one.release();  // closed by the end of the process (R3)
}

bool take_request(DoorRequest& request, Descriptor& connection) {
  iovec data{&request, sizeof request};
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  if (recvmsg(kSocket, &header, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof request)) return false;
  take_descriptors(header, {&connection, 1});
  return true;
}

// The child.
int serve_one(void* context) {
  State& state = *static_cast<State*>(context);
  DoorRequest request;
  Descriptor connection;
  if (!take_request(request, connection)) {
    state.over = true;
  } else if (request.closes) {
    Descriptor none;
    state.over = !take_request(request, none);
    state.owner = request.owner;
    state.strange = true;
  } else {
    answer(state, request, connection.get());
  }
  connection.release();
  return 0;  // its end
}

// There is no process left.
void refuse_one(State& state) {
  DoorRequest request;
  Descriptor connection;
  state.over = !take_request(request, connection);
  if (state.over || request.closes) return;
  DoorAnswer answer;
  answer.status = ENOMEM;
  send_packet(kSocket, {reinterpret_cast<const std::uint8_t*>(&answer), sizeof answer}, {}, Waiting::kYes);
}

void reap(State& state) {
  for (pid_t ended = 0; (ended = waitpid(-1, nullptr, WNOHANG)) > 0;) {
    std::erase_if(state.left, [ended](const Left& one) { return one.process == ended; });
  }
}

}  // namespace

void keep_door(int socket) {
  prctl(PR_SET_NAME, Doorkeeper::kName);
  signal(SIGCHLD, SIG_DFL);  // of one that is ignored the kernel would take the ends away (R4)
  const char named = 1;
  (void)!send(socket, &named, sizeof named, MSG_NOSIGNAL);
  dup2(socket, kSocket);
  close_range(kSocket + 1, ~0U, 0);
  int nowhere[2];  // 1 and 2 (R6)
  if (pipe2(nowhere, O_NONBLOCK) != 0 || chdir("/") != 0) _exit(1);
  State state;
  const auto stack = std::make_unique<std::byte[]>(kStack);
  while (!state.over) {
    reap(state);
    state.strange = false;
    // As vfork(), on a stack of its own.
    const pid_t child = clone(serve_one, stack.get() + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, &state);
    if (child < 0) {
      refuse_one(state);
    } else if (state.strange) {
      state.left.push_back({child, state.owner, SteadyClock::now()});
    }
  }
  _exit(0);
}

}  // namespace rxnic::channel
