// SPDX-License-Identifier: Apache-2.0
// A prefetch policy of one's own: a fixed window in the place of the model's, which doubles when packets wait. Prints
// what each costs and gains for the same traffic. Argument: the window; without one, the policy of the model
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "model/nic/nic_policies.h"
#include "receiver.h"

namespace {

class FixedWindow final : public rxnic::PrefetchWindow {
 public:
  explicit FixedWindow(std::uint32_t wqes) : wqes_(wqes) {}
  std::uint32_t at_begin(const rxnic::PrefetchQueue&) override { return wqes_; }
  std::uint32_t at_wait(const rxnic::PrefetchQueue&) override { return wqes_; }

 private:
  const std::uint32_t wqes_;
};

}  // namespace

int sc_main(int argc, char** argv) {
  rxnic::SystemOptions options{.requester = false};
  options.params.srq_wqe_fetcher.prefetch = rxnic::PrefetchPolicy::kDemand;
  options.params.srq_wqe_fetcher.queues = 16;  // prefetch contexts: more than there are queues
  if (argc > 1) {
    const auto wqes = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 0));
    options.policies.prefetch = [wqes] { return std::make_unique<FixedWindow>(wqes); };
  }
  Receiver receiver("receiver", options, {.queues = 8, .messages = 2000, .bytes = 256, .gap_ns = 100});
  sc_core::sc_start();
  receiver.system.engine.settle();
  const auto& fetcher = receiver.system.nic(0).srq_wqe_fetcher;
  const auto n = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf("%s: %u of 2000 SENDs completed, the last at %s\n", argc > 1 ? "fixed window" : "the model's",
              receiver.good, receiver.last.to_string().c_str());
  std::printf("  %llu reads of WQEs, %llu WQEs read in vain, %llu cycles in which packets waited for a WQE\n",
              n(fetcher.prefetch_counters().reads), n(fetcher.prefetch_counters().wqes_evicted),
              n(fetcher.account()[static_cast<std::size_t>(rxnic::Activity::kWaitWqe)]));
  return receiver.good == 2000 ? 0 : 1;
}
