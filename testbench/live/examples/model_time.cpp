// SPDX-License-Identifier: Apache-2.0
// How long does this code take on that NIC? The answer is in model time, which passes as on the hardware, however
// slowly the model runs. The clock of the NIC (ibv_query_rt_values_ex) and the timestamps of completions are both of
// model time.
//
//   rxnic run --nics 2 -- model_time
//   rxnic run --nics 2 --config tiny -- model_time
//
// Two times are printed for SENDs of several sizes, from rxnic0 to rxnic1. One goes from the receiver's completion of a
// message to that of the next. The other goes from the sender's reading of the clock to the receiver's completion. The
// latter holds what the program itself does meanwhile, as far as model time passes. It does for a reading of the clock,
// which is an access to a register of the NIC.
#include <algorithm>
#include <vector>

#include "testbench/live/examples/pair.h"

namespace {

constexpr std::uint32_t kMessages = 64;

// Nanoseconds of model time.
std::uint64_t now(ibv_context* context) {
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  example::must(ibv_query_rt_values_ex(context, &values), "ibv_query_rt_values_ex");
  return static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
}

// When the next completion of the CQ was made, in nanoseconds of model time.
std::uint64_t completed(ibv_cq_ex* cq) {
  ibv_poll_cq_attr attr{};
  while (ibv_start_poll(cq, &attr) != 0) {
  }
  example::check(cq->status == IBV_WC_SUCCESS, "a work request failed");
  const std::uint64_t at = ibv_wc_read_completion_ts(cq);  // in ticks of hca_core_clock, 1 GHz here
  ibv_end_poll(cq);
  return at;
}

std::uint64_t median(std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  example::Nic sender(0, 4 << 20), receiver(1, 4 << 20);
  ibv_cq* const send_cq = example::check(ibv_create_cq(sender.context, 256, nullptr, nullptr, 0), "ibv_create_cq");
  ibv_cq_init_attr_ex with_time{};
  with_time.cqe = 256;
  with_time.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* const cq = example::check(ibv_create_cq_ex(receiver.context, &with_time), "ibv_create_cq_ex");
  ibv_srq_init_attr init{};
  init.attr = {kMessages, 1, 0};
  ibv_srq* const srq = example::check(ibv_create_srq(receiver.pd, &init), "ibv_create_srq");
  ibv_qp* const from = example::make_qp(sender, send_cq, nullptr, kMessages);
  ibv_qp* const to = example::make_qp(receiver, ibv_cq_ex_to_cq(cq), srq, 1);
  example::connect(from, receiver, to->qp_num);
  example::connect(to, sender, from->qp_num);

  std::printf("   bytes   one after the other   back to back\n");
  for (std::size_t bytes = 2; bytes <= 32768; bytes *= 4) {
    const auto post = [&] { example::post_receive(srq, receiver.sge(0, bytes), 0); };
    std::vector<std::uint64_t> latencies, gaps;
    for (std::uint32_t n = 0; n < kMessages; ++n) {  // one after the other
      post();
      const std::uint64_t begin = now(sender.context);
      example::send(from, sender.sge(0, bytes), 0);  // <- the code that is measured
      latencies.push_back(completed(cq) - begin);
      example::take(send_cq);
    }
    for (std::uint32_t n = 0; n < kMessages; ++n) post();  // back to back
    for (std::uint32_t n = 0; n < kMessages; ++n) example::send(from, sender.sge(0, bytes), 0);
    std::uint64_t before = completed(cq);
    for (std::uint32_t n = 1; n < kMessages; ++n) {
      const std::uint64_t at = completed(cq);
      gaps.push_back(at - before);
      before = at;
    }
    for (std::uint32_t n = 0; n < kMessages; ++n) example::take(send_cq);
    std::printf("%8zu %18llu ns %11llu ns\n", bytes, static_cast<unsigned long long>(median(latencies)),
                static_cast<unsigned long long>(median(gaps)));
  }
  example::must(ibv_destroy_qp(from), "ibv_destroy_qp");
  example::must(ibv_destroy_qp(to), "ibv_destroy_qp");
  example::must(ibv_destroy_srq(srq), "ibv_destroy_srq");
  example::must(ibv_destroy_cq(send_cq), "ibv_destroy_cq");
  example::must(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "ibv_destroy_cq");
}
