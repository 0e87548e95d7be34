// SPDX-License-Identifier: Apache-2.0
// What the library alone costs a program: a message's posting and polling, against a device that completes at once; its
// loading.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "bridge/verbs/data_path.h"
#include "model/core/completion/cqe_format.h"

namespace rxnic::verbs {
namespace {

constexpr std::uint32_t kSlots = 256;
constexpr std::size_t kRingBytes = std::size_t{kSlots} * 128;

// A context, a CQ and a QP as the control path would make them.
class World {
 public:
  World() {
    mapping_ = mmap(nullptr, channel::kHeapOffset + 2 * kRingBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    context_.mapping = mapping_;
    auto* heap = static_cast<std::uint8_t*>(mapping_) + channel::kHeapOffset;
    cq_.cq.context = &context_.verbs.context;
    cq_.slots = kSlots;
    cq_.ring = heap;
    std::memset(heap, 0xff, kSlots * sizeof(Cqe));
    ibv_qp& base = qp_.qp.qp_base;
    base.context = &context_.verbs.context;
    base.qp_num = 0x100;
    base.qp_type = IBV_QPT_RC;
    base.state = IBV_QPS_RTS;
    base.send_cq = base.recv_cq = cq();
    qp_.send.slots = kSlots;
    qp_.send.stride = 128;
    qp_.send.max_sge = 4;
    qp_.send.max_inline = 64;
    qp_.send.ring = heap + kRingBytes;
    allocate_bookkeeping(qp_);
    context_.qps.set(base.qp_num, &qp_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() { munmap(mapping_, channel::kHeapOffset + 2 * kRingBytes); }

  ibv_qp* qp() { return &qp_.qp.qp_base; }
  ibv_cq* cq() { return ibv_cq_ex_to_cq(&cq_.cq); }
  void complete() {  // the device: the next WQE
    Cqe cqe;
    cqe.qp_number = qp()->qp_num;
    cqe.opcode = CqeOpcode::kSend;
    cqe.wqe_index = completed_ % kSlots;
    write_slot(cqe, completed_, kSlots, sizeof(Cqe), cq_.ring + std::size_t{completed_ % kSlots} * sizeof(Cqe));
    ++completed_;
  }

 private:
  void* mapping_;
  Context context_;
  Cq cq_;
  Qp qp_;
  std::uint32_t completed_ = 0;
};

// `batch`: WRs in a post call, and completions in a poll call.
void post_and_poll(benchmark::State& state) {
  World world;
  const auto batch = static_cast<std::uint32_t>(state.range(0));
  char payload[64] = {};
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(payload), sizeof payload, 1};
  ibv_send_wr wrs[64] = {};
  for (std::uint32_t i = 0; i < batch; ++i) {
    wrs[i].next = i + 1 == batch ? nullptr : &wrs[i + 1];
    wrs[i].sg_list = &sge;
    wrs[i].num_sge = 1;
    wrs[i].opcode = IBV_WR_SEND;
    wrs[i].send_flags = static_cast<unsigned int>(IBV_SEND_SIGNALED | (state.range(1) != 0 ? IBV_SEND_INLINE : 0));
  }
  ibv_wc wcs[64];
  for (auto _ : state) {
    ibv_send_wr* bad = nullptr;
    if (post_send(world.qp(), wrs, &bad) != 0) state.SkipWithError("the queue is full");
    for (std::uint32_t i = 0; i < batch; ++i) world.complete();
    if (poll_cq(world.cq(), static_cast<int>(batch), wcs) != static_cast<int>(batch)) state.SkipWithError("no WC");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(post_and_poll)->ArgNames({"batch", "inline"})->Args({1, 0})->Args({1, 1})->Args({16, 0})->Args({64, 0});

// Seconds that dlopen() takes, with all symbols resolved; < 0: it failed. In a process of its own: the library stays in
// memory once it is there.
double load_once() {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto before = std::chrono::steady_clock::now();
    const void* library = dlopen(RXNIC_VERBS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    const double seconds = library == nullptr ? -1 : took.count();
    _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
  }
  close(ends[1]);
  double seconds = -1;
  if (child < 0 || read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = -1;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return seconds;
}

void load_library(benchmark::State& state) {
  for (auto _ : state) {
    const double seconds = load_once();
    if (seconds < 0) {
      state.SkipWithError("the library cannot be loaded");
      break;
    }
    state.SetIterationTime(seconds);
  }
}
BENCHMARK(load_library)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rxnic::verbs
