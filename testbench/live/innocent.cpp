// SPDX-License-Identifier: Apache-2.0
// A pair that behaves well, without an end: a QP on each of two NICs, and how long it waits for the simulator.
//
//   usage: innocent SIMULATOR FILE
//
//   R1  A round is a request (a PD is made and freed) and a message there and back, by SEND and RC. FILE holds the
//       number of rounds and the nanoseconds they took, 8 bytes each, at all times. Who measures looks there at moments
//       of its own. "running" is printed after the first.
//   R2  What counts is the simulator's time: what it computes between a question and its answer, for whomever. What the
//       simulator sleeps meanwhile counts beyond a millisecond, which no waking takes. A lack of a processor for one or
//       the other does not count: a neighbour that only computes makes no round longer.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

#include "testbench/live/verbs_world.h"

namespace rxnic::live {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;
constexpr nanoseconds kWaking{1'000'000};  // R2

// What the simulator has computed until now, and how long it and this program have waited for a processor.
class Watch {
 public:
  explicit Watch(const char* simulator)
      : here_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)),
        there_(open(("/proc/" + std::string(simulator) + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC)) {
    must(here_ < 0 || there_ < 0, "/proc/PID/schedstat");
    must(clock_getcpuclockid(std::atoi(simulator), &clock_), "clock_getcpuclockid");
  }
  nanoseconds computed() const {
    timespec time{};
    must(clock_gettime(clock_, &time), "clock_gettime");
    return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
  }
  nanoseconds without_processor() const { return waited(here_) + waited(there_); }

 private:
  static nanoseconds waited(int file) {
    std::array<char, 80> text{};
    long long ran = 0, waits = 0;
    const bool good =
        pread(file, text.data(), text.size() - 1, 0) > 0 && std::sscanf(text.data(), "%lld %lld", &ran, &waits) == 2;
    if (!good) throw std::runtime_error("the simulator has gone");
    return nanoseconds{waits};
  }
  int here_, there_;
  clockid_t clock_ = 0;
};

struct Side {
  explicit Side(std::uint32_t nic) : world(nic), cq(world.cq(16)), arena(world, 4096) {}
  void receive() {
    std::array<ibv_sge, 1> list{arena.sge(2048, kBytes)};
    post_receive(qp.get(), list);
  }
  void send() {
    std::array<ibv_sge, 1> list{arena.sge(0, kBytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
    post(qp.get(), wr);
  }
  void completes(ibv_wc_opcode expected) const {
    const ibv_wc wc = take(cq.get());
    if (wc.status != IBV_WC_SUCCESS || wc.opcode != expected) throw std::runtime_error("a message failed");
  }
  static constexpr std::size_t kBytes = 64;
  World world;
  Owned<ibv_cq> cq;
  Arena arena;
  Owned<ibv_qp> qp = make_qp(world, cq.get(), cq.get(), {.all_signaled = true});
};

void message(Side& from, Side& to) {
  to.receive();
  from.send();
  to.completes(IBV_WC_RECV);
  from.completes(IBV_WC_SEND);
}

void exchange(const char* simulator, const char* file) {
  const int shared = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  must(ftruncate(shared, 2 * sizeof(std::uint64_t)), "ftruncate");
  void* const memory = mmap(nullptr, 2 * sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map the file");
  auto* const words = static_cast<std::uint64_t*>(memory);
  std::atomic_ref<std::uint64_t> rounds(words[0]), took(words[1]);
  const Watch watch(simulator);
  Side a(0), b(1);
  connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  const auto timed = [&](const auto& work) {
    const nanoseconds waited = watch.without_processor(), before = watch.computed();
    const auto begin = Clock::now();
    work();
    const nanoseconds all = Clock::now() - begin, computed = watch.computed() - before;
    const nanoseconds slept = all - computed - (watch.without_processor() - waited);
    took += static_cast<std::uint64_t>((computed + std::max(nanoseconds{0}, slept - kWaking)).count());
  };
  while (true) {
    timed([&] { own(ibv_alloc_pd(a.world.context.get()), "ibv_alloc_pd").reset(); });
    timed([&] { message(a, b); });
    timed([&] { message(b, a); });
    if (++rounds > 1) continue;
    std::printf("running\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace rxnic::live

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::runtime_error("usage: innocent SIMULATOR FILE");
    rxnic::live::exchange(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "innocent: %s\n", error.what());
  }
  return 1;
}
