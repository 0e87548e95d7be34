// SPDX-License-Identifier: Apache-2.0
// A program that follows the protocol but takes more than its share, one way per run.
//
//   usage: abuse WAY [NUMBER or FILE]
//
//   doorbells [QPS]   rings every doorbell of QPS QPs (default 8192) for a second, then closes its connection. With
//                     `hold` as third argument it goes on until it is killed
//   opens [COUNT]     asks COUNT times (default 20000) for a NIC that does not exist
//   reopens [COUNT]   opens and closes a NIC COUNT times
//   names [COUNT]     as reopens, each time with another name
//   linger            hands over sockets whose last close() waits for 8 s, while another connection is served
//   file PATH         hands over descriptors of a file whose close never ends (fuse_file.py), while another connection
//                     is served; its own end waits for the file, too
//   passes FILE       opens a NIC and passes descriptors of FILE until it is disconnected; sleeps then
//   semaphore         opens a NIC with an eventfd that stays readable, and sleeps for 3 s
//   userfault         sends from a page that it never supplies (userfaultfd): it is killed, or its request fails;
//                     exit 77 where it may not
//   maps FILE         sends from a page that is mapped from FILE, of a file system that never answers READ: it is
//                     killed
//   silent [COUNT]    connects COUNT times (default 300) and says nothing, until it is killed
//   mappings [COUNT]  asks COUNT times (default 300) for a NIC with a mapping of 1 TiB
//   executes [COUNT]  executes another image COUNT times (default 20) while its memory is written to. The image has the
//                     same addresses, and exits with 1 when one of its bytes changes
//   huge              registers 16 GiB again and again, until it is killed
//   pins ADDRESS      connects to a testbench with RTL (bridge/dpi) and says nothing, or something wrong, until nobody
//                     listens any more
//   pings [COUNT]     no abuse: how long COUNT requests and messages take (default 10,000 of each)
//   verbs             no abuse: opens a NIC through the drop-in and makes a CQ
//   lines             is refused as fast as it can for 3 s
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bridge/dpi/pins.h"
#include "testbench/live/raw_client.h"
#include "testbench/live/verbs_world.h"
#include "testbench/unit/bridge/live/lingering_socket.h"

namespace rxnic::live {
namespace {

using channel::Board;
using Clock = std::chrono::steady_clock;

void ring_everything(RawClient& client) {
  for (std::size_t b = 0; b < channel::kBoards; ++b) {
    channel::DoorbellBoard& board = channel::board(client.base(), static_cast<Board>(b));
    for (auto& bits : board.dirty) bits.store(~std::uint64_t{0}, std::memory_order_relaxed);
    for (auto& bits : board.dirty_words) bits.store(~std::uint64_t{0}, std::memory_order_release);
  }
  client.header().rung.store(1);
  if (client.header().simulator_sleeps.load() != 0) eventfd_write(client.wake.get(), 1);
}

void doorbells(std::uint32_t qps, bool hold) {
  RawClient client;
  client.hello();
  require((errno = client.open()) == 0, "open");
  const std::uint32_t pd = client.create_pd();
  const std::uint32_t cq = client.create_cq(64);
  for (std::uint32_t n = 0; n < qps; ++n) (void)client.create_qp(pd, cq);
  std::printf("%u QPs\n", qps);
  std::fflush(stdout);
  for (const auto end = Clock::now() + std::chrono::seconds{1}; hold || Clock::now() < end;) ring_everything(client);
  std::printf("rung for a second\n");
}

void opens(std::uint32_t count) {
  std::unique_ptr<RawClient> client;
  for (std::uint32_t n = 0; n < count; ++n) {
    if (n % 500 == 0) {  // a connection that has opened no NIC is closed after 10 s
      client = std::make_unique<RawClient>();
      client->hello();
    }
    const std::int32_t status = client->open(63);
    if (status != ENODEV) throw std::runtime_error("open " + std::to_string(n) + ": " + std::strerror(status));
  }
  std::printf("%u opens were refused\n", count);
}

void reopens(std::uint32_t count, bool with_names) {
  for (std::uint32_t n = 0; n < count; ++n) {
    RawClient client;
    if (with_names) client.hello("abuse " + std::to_string(getpid()) + " " + std::to_string(n));
    const std::int32_t status = client.open();
    if (status != 0) throw std::runtime_error("open " + std::to_string(n) + ": " + std::strerror(status));
    client.header().left.store(1);
  }
  std::printf("%u opens\n", count);
}

// Descriptors that the simulator has no use for. `last`: its close is to be the last one.
void hand_over(std::vector<channel::Descriptor> descriptors, bool last) {
  RawClient bad, good;
  bad.hello();
  good.hello();
  require((errno = bad.open()) == 0, "open");
  require((errno = good.open()) == 0, "open");
  for (const channel::Descriptor& one : descriptors) {  // not all, when the connection has ended
    const int descriptor = one.get();
    const channel::Message message = RawClient::request(channel::Request::kCreateChannel);
    if (channel::send_message(bad.socket(), message, {&descriptor, 1}, channel::Waiting::kNo) != 0) break;
  }
  if (last) descriptors.clear();
  const auto begin = Clock::now();
  (void)good.create_pd();
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::printf("another connection waited %.3f s\n", took.count());
  std::fflush(stdout);
  if (took.count() > 3) throw std::runtime_error("the simulator waits for the close of a descriptor");
}

void lingering_socket() {
  LingeringSocket lingering(8);
  std::vector<channel::Descriptor> one;
  one.push_back(std::move(lingering.socket));
  hand_over(std::move(one), true);
}

void file(const char* path) {
  constexpr int kDescriptors = 20;
  std::vector<channel::Descriptor> all;
  for (int n = 0; n < kDescriptors; ++n) {
    all.emplace_back(open(path, O_RDONLY | O_CLOEXEC));
    require(static_cast<bool>(all.back()), path);
  }
  hand_over(std::move(all), false);
}

// Modules that are there are not asked for: who has one may drive its inputs.
void pins(const std::string& address) {
  std::mt19937_64 random(static_cast<std::uint64_t>(getpid()));
  std::vector<channel::Descriptor> held;
  std::string error;
  for (std::uint64_t connected = 0;; ++connected) {
    channel::Descriptor socket = channel::connect_to(address, error);
    if (!socket && connected > 0) {
      std::printf("%llu connections\n", static_cast<unsigned long long>(connected));
      return;
    }
    for (int n = 0; !socket && n < 6000; ++n, usleep(10'000)) socket = channel::connect_to(address, error);
    if (!socket) throw std::runtime_error(error);
    std::array<std::uint8_t, 300> packet;
    for (std::uint8_t& byte : packet) byte = static_cast<std::uint8_t>(random());
    dpi::PinRecord request;
    (void)dpi::set_name(request, random() % 2 == 0 ? "nobody" : "grh_scatter");
    request.kind = dpi::PinKind::kModule;
    request.value = dpi::kPinsVersion + 1 + random() % 2;  // another version than the testbench's
    const std::uint64_t way = random() % 4;
    if (way == 1) (void)send(socket.get(), packet.data(), random() % packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (way >= 2) (void)send(socket.get(), &request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (random() % 2 == 0) held.push_back(std::move(socket));
    if (held.size() > 100) held.clear();
  }
}

void pass_descriptors(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);  // not closed: that might take for ever
  require(file >= 0, path);
  RawClient client;
  client.hello();
  require((errno = client.open()) == 0, "open");
  std::uint32_t count = 0;
  try {
    for (;; ++count) (void)client.call(RawClient::request(channel::Request::kCreateChannel), {&file, 1});
  } catch (const std::exception&) {
    std::printf("passed %u descriptors\n", count);
  }
  std::fflush(stdout);
  for (;;) pause();
}

void semaphore() {
  RawClient client;
  client.hello();
  client.make_descriptors();
  client.wake.reset(eventfd(1'000'000'000, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  require((errno = client.open()) == 0, "open");
  std::printf("opened\n");
  std::fflush(stdout);
  sleep(3);
}

// A SEND of what is at `page`, which somebody has to supply.
void send_from(const World& world, ibv_cq* cq, void* page, std::size_t bytes, int access) {
  const Owned<ibv_mr> region = own(ibv_reg_mr(world.pd.get(), page, bytes, access), "ibv_reg_mr");
  const Owned<ibv_qp> a = make_qp(world, cq, cq), b = make_qp(world, cq, cq);
  connect_both(a.get(), world, b.get(), world);
  std::array<ibv_sge, 1> list{ibv_sge{reinterpret_cast<std::uint64_t>(page), 1024, region->lkey}};
  ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
  std::printf("sends\n");
  std::fflush(stdout);
  post(a.get(), wr);
  std::printf("%s\n", ibv_wc_status_str(take(cq).status));
}

void userfault() {
  constexpr std::uint64_t kPage = 4096;
  const channel::Descriptor fault(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC)));
  if (!fault) std::exit(77);
  const World world(0);
  const Owned<ibv_cq> cq = world.cq(16);
  void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uffdio_api api{};
  api.api = UFFD_API;
  require(ioctl(fault.get(), UFFDIO_API, &api) == 0, "UFFDIO_API");
  uffdio_register range{};
  range.range = {reinterpret_cast<std::uint64_t>(page), kPage};
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  require(ioctl(fault.get(), UFFDIO_REGISTER, &range) == 0, "UFFDIO_REGISTER");
  send_from(world, cq.get(), page, kPage, IBV_ACCESS_LOCAL_WRITE);
}

void send_from_file(const char* path) {
  constexpr std::size_t kPage = 4096;
  const channel::Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  require(static_cast<bool>(file), path);
  const World world(0);
  const Owned<ibv_cq> cq = world.cq(16);
  void* const page = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file.get(), 0);
  require(page != MAP_FAILED, "mmap");
  send_from(world, cq.get(), page, kPage, 0);
}

void silent(std::uint32_t count) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::uint32_t n = 0; n < count; ++n) clients.push_back(std::make_unique<RawClient>());
  std::printf("%u connections\n", count);
  std::fflush(stdout);
  for (;;) pause();
}

// They are sparse: the program itself needs little.
void mappings(std::uint32_t count) {
  for (std::uint32_t n = 0; n < count; ++n) {
    RawClient client;
    client.hello();
    client.make_descriptors(std::uint64_t{1} << 40);
    const std::int32_t status = client.open();
    if (status != EINVAL) throw std::runtime_error("open " + std::to_string(n) + ": " + std::strerror(status));
  }
  std::printf("%u mappings were refused\n", count);
}

// Where both images have memory.
constexpr std::size_t kPlaceBytes = 1 << 20;
std::uint8_t* map_place() {
  void* const place = reinterpret_cast<void*>(0x2800'0000);
  void* const memory = mmap(place, kPlaceBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0);
  require(memory == place, "mmap");
  return static_cast<std::uint8_t*>(memory);
}

// What it maps is zeros, and what comes for the image before it is not.
int image() {
  const std::uint8_t* const place = map_place();
  for (const auto end = Clock::now() + std::chrono::milliseconds{100}; Clock::now() < end;) {
    if (std::any_of(place, place + kPlaceBytes, [](std::uint8_t byte) { return byte != 0; })) return 1;
  }
  return 0;
}

struct Told {
  std::uint32_t qpn = 0, rkey = 0;
};

// Its memory is written to by `peer`; it executes the image when that is under way.
int become_image(int told, int asked, const ibv_gid& peer, std::uint32_t peers_qpn) {
  const World world(0);
  std::uint8_t* const place = map_place();
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const Owned<ibv_mr> region = own(ibv_reg_mr(world.pd.get(), place, kPlaceBytes, kAccess), "ibv_reg_mr");
  const Owned<ibv_cq> cq = world.cq(16);
  const Owned<ibv_qp> qp = make_qp(world, cq.get(), cq.get());
  connect(qp.get(), peer, peers_qpn);
  const Told mine{qp->qp_num, region->rkey};
  char go = 0;
  require(write(told, &mine, sizeof mine) == ssize_t{sizeof mine} && read(asked, &go, 1) == 1, "pipe");
  for (const volatile std::uint8_t& last = place[kPlaceBytes - 1]; last == 0;) {
  }
  execl("/proc/self/exe", "abuse", "image", nullptr);
  return 2;
}

void executes(std::uint32_t count) {
  for (std::uint32_t n = 0; n < count; ++n) {
    const World world(0);
    Arena arena(world, kPlaceBytes);
    std::memset(arena.at(0), 0x77, kPlaceBytes);
    const Owned<ibv_cq> cq = world.cq(256);
    const Owned<ibv_qp> qp = make_qp(world, cq.get(), cq.get());
    int told[2], asked[2];
    require(pipe2(told, O_CLOEXEC) == 0 && pipe2(asked, O_CLOEXEC) == 0, "pipe2");
    const ibv_gid gid = world.gid(2);
    const pid_t child = fork();
    if (child == 0) _exit(become_image(told[1], asked[0], gid, qp->qp_num));
    Told theirs;
    require(read(told[0], &theirs, sizeof theirs) == ssize_t{sizeof theirs}, "read");
    connect(qp.get(), gid, theirs.qpn);
    require(write(asked[1], "g", 1) == 1, "write");
    std::array<ibv_sge, 1> list{arena.sge(0, kPlaceBytes)};
    for (int n_posted = 0; n_posted < 16; ++n_posted) {
      ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list);
      wr.wr.rdma = {0x2800'0000, theirs.rkey};
      post(qp.get(), wr);
    }
    int status = -1;
    waitpid(child, &status, 0);
    for (const int end : {told[0], told[1], asked[0], asked[1]}) close(end);
    if (status != 0) throw std::runtime_error("image " + std::to_string(n) + ": status " + std::to_string(status));
  }
  std::printf("%u images were not written to\n", count);
}

void huge() {
  const World world(0);
  constexpr std::size_t kBytes = std::size_t{1} << 34;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(memory != MAP_FAILED, "mmap");
  for (;;) {
    const Owned<ibv_mr> region = own(ibv_reg_mr(world.pd.get(), memory, kBytes, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
    std::printf("registered\n");
    std::fflush(stdout);
  }
}

void pings(std::uint32_t count) {
  const World world(0);
  const Owned<ibv_cq> cq = world.cq(16);
  Arena arena(world, 4096);
  const Owned<ibv_qp> a = make_qp(world, cq.get(), cq.get()), b = make_qp(world, cq.get(), cq.get());
  connect_both(a.get(), world, b.get(), world);
  std::array<ibv_sge, 1> list{arena.sge(0, 64)};
  std::vector<double> requests, messages;
  const auto timed = [](std::vector<double>& to, const auto& work) {
    const auto begin = Clock::now();
    work();
    to.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  };
  for (std::uint32_t n = 0; n < count; ++n) {
    timed(requests, [&] { own(ibv_alloc_pd(world.context.get()), "ibv_alloc_pd").reset(); });
    timed(messages, [&] {
      ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list);
      wr.wr.rdma = {arena.address(128), arena.region->rkey};
      post(a.get(), wr);
      (void)take(cq.get());
    });
  }
  for (auto* times : {&requests, &messages}) {
    std::sort(times->begin(), times->end());
    std::printf("%s: %zu, p50 %.0f us, p99 %.0f us\n", times == &requests ? "requests" : "messages", times->size(),
                times->at(times->size() / 2), times->at(times->size() * 99 / 100));
  }
}

void lines() {
  RawClient client;
  client.hello();
  std::uint64_t count = 0;
  for (const auto end = Clock::now() + std::chrono::seconds{3}; Clock::now() < end; ++count) (void)client.open(63);
  std::printf("%llu opens were refused\n", static_cast<unsigned long long>(count));
}

}  // namespace
}  // namespace rxnic::live

int main(int argc, char** argv) {
  using namespace rxnic::live;
  const auto number = [&](std::uint32_t otherwise) {
    return argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : otherwise;
  };
  const std::map<std::string, std::function<void()>> ways = {
      {"doorbells", [&] { doorbells(number(8192), argc > 3); }},
      {"opens", [&] { opens(number(20000)); }},
      {"reopens", [&] { reopens(number(20000), false); }},
      {"names", [&] { reopens(number(20000), true); }},
      {"linger", lingering_socket},
      {"file", [&] { file(argc > 2 ? argv[2] : ""); }},
      {"pins", [&] { pins(argc > 2 ? argv[2] : ""); }},
      {"passes", [&] { pass_descriptors(argc > 2 ? argv[2] : ""); }},
      {"semaphore", semaphore},
      {"userfault", userfault},
      {"maps", [&] { send_from_file(argc > 2 ? argv[2] : ""); }},
      {"silent", [&] { silent(number(300)); }},
      {"mappings", [&] { mappings(number(300)); }},
      {"executes", [&] { executes(number(20)); }},
      {"image", [] { std::exit(image()); }},
      {"huge", huge},
      {"pings", [&] { pings(number(10000)); }},
      {"lines", lines},
      {"verbs", [] { std::printf("made %s\n", World(0).cq(16) != nullptr ? "a CQ" : "nothing"); }},
  };
  try {
    const auto way = ways.find(argc > 1 ? argv[1] : "");
    if (way == ways.end()) throw std::runtime_error("usage: abuse WAY [NUMBER or FILE]");
    way->second();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "abuse: %s\n", error.what());
    return 1;
  }
  return 0;
}
