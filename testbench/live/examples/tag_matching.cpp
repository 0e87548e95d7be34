// SPDX-License-Identifier: Apache-2.0
// Tag matching by the NIC: the receiver posts buffers with tags, and the NIC writes each message into the buffer whose
// tag it carries. Shown: an exact tag, a wildcard, a message that nobody waits for, a buffer that is taken back, and a
// rendezvous. In a rendezvous the sender sends only where its message is, and the receiver's NIC reads the message from
// there.
//
//   rxnic run --nics 2 -- tag_matching
//
// The sender is on rxnic0, the receiver on rxnic1. A message begins with a TMH (<infiniband/tm_types.h>), which the NIC
// leaves out when it matches.
#include <cstring>

#include "testbench/live/examples/tag_receiver.h"

namespace {

constexpr std::uint64_t kExact = ~std::uint64_t{0};
using example::kBytes;

}  // namespace

int main() {
  example::Nic sender(0);
  example::TagReceiver receiver;
  ibv_cq* const cq = example::check(ibv_create_cq(sender.context, 64, nullptr, nullptr, 0), "ibv_create_cq");
  ibv_qp* const qp = example::make_qp(sender, cq, nullptr, 16);
  example::connect(qp, receiver.nic, receiver.qp->qp_num);
  example::connect(receiver.qp, sender, qp->qp_num);
  example::post_receive(qp, sender.sge(kBytes, kBytes), 0);  // for FIN
  const auto send = [&](int opcode, std::uint64_t tag, std::size_t bytes) {
    ibv_tmh header{};
    header.opcode = static_cast<std::uint8_t>(opcode);
    header.tag = htobe64(tag);
    std::memcpy(sender.memory.data(), &header, sizeof header);
    example::send(qp, sender.sge(0, sizeof header + bytes), 0);
    example::take(cq);
    std::printf("message with tag 0x%llx\n", static_cast<unsigned long long>(tag));
    receiver.print_next();
  };

  receiver.wait_for(0x1234, kExact, 0);
  receiver.wait_for(0x1200, 0xff00, 1);  // any tag 0x12..
  send(IBV_TMH_EAGER, 0x1234, 100);      // both match: the buffer that was posted first gets it
  send(IBV_TMH_EAGER, 0x1299, 200);
  send(IBV_TMH_EAGER, 0x7777, 300);  // nobody waits for it
  receiver.synchronize();
  receiver.print_next();
  const std::uint32_t handle = receiver.wait_for(0x8888, kExact, 2);
  receiver.take_back(handle);
  receiver.print_next();
  receiver.wait_for(0x5555, kExact, 3);
  ibv_rvh message{};  // follows the TMH
  message.va = htobe64(sender.sge(2 * kBytes, kBytes).addr);
  message.rkey = htobe32(sender.mr->rkey);
  message.len = htobe32(kBytes);
  std::memcpy(sender.memory.data() + sizeof(ibv_tmh), &message, sizeof message);
  send(IBV_TMH_RNDV, 0x5555, sizeof message);
  receiver.print_next();
  example::take(cq);  // FIN: the memory is the sender's again
  std::puts("the sender has FIN");
  example::must(ibv_destroy_qp(qp), "ibv_destroy_qp");
  example::must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}
