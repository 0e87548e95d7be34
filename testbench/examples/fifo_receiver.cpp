// SPDX-License-Identifier: Apache-2.0
// A NIC between SystemC FIFOs and a TLM-2.0 driver. Frames go to the NIC's wire through an sc_fifo and come from the
// wire through another one; every doorbell is a TLM write. Argument: MESSAGES
#include <tlm_utils/simple_initiator_socket.h>
#include <cstdio>
#include <cstdlib>

#include "model/systemc/frame_fifos.h"
#include "model/systemc/tlm_doorbells.h"
#include "receiver.h"

namespace {

class FifoReceiver final : public Receiver {
 public:
  SC_HAS_PROCESS(FifoReceiver);
  FifoReceiver(const sc_core::sc_module_name& name, const rxnic::SystemOptions& options, const Shape& of)
      : Receiver(name, options, of) {
    wire.in.bind(to_nic);
    wire.out.bind(from_nic);
    driver.bind(page.socket);
    SC_THREAD(take_answers);
  }
  std::uint64_t answers = 0, rung = 0, refused = 0;
  const rxnic::TlmDoorbells& doorbells() const { return page; }

 private:
  void put(const std::vector<std::uint8_t>& frame) override { to_nic.write({frame}); }  // waits while it is full
  void ring(const rxnic::Doorbell& doorbell) override {
    auto bytes = doorbell_bytes(doorbell);
    tlm::tlm_generic_payload write;
    write.set_command(tlm::TLM_WRITE_COMMAND);
    write.set_address(0);
    write.set_data_ptr(bytes.data());
    write.set_data_length(bytes.size());
    write.set_streaming_width(bytes.size());
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    driver->b_transport(write, delay);
    ++(write.is_response_ok() ? rung : refused);
  }
  void take_answers() {
    for (;;) answers += from_nic.read().bytes.size() > 0;
  }

  sc_core::sc_fifo<rxnic::Frame> to_nic{"to_nic", 2}, from_nic{"from_nic", 2};
  rxnic::FrameFifos wire{"wire", system, 0};
  rxnic::TlmDoorbells page{"page", system.host(0)};
  tlm_utils::simple_initiator_socket<FifoReceiver> driver{"driver"};
};

}  // namespace

int sc_main(int argc, char** argv) {
  const auto messages = static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 1000);
  // No pause between messages: the FIFO is full, and the line decides.
  FifoReceiver receiver("receiver", {.requester = false}, {.messages = messages, .bytes = 1024, .gap_ns = 0});
  sc_core::sc_start();
  const auto n = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  const double gbps = 8e-9 * 1024 * receiver.good / (receiver.last.to_seconds() - 10e-6);
  std::printf("%u of %u SENDs completed, %llu answers; %.0f Gb/s of payload\n", receiver.good, messages,
              n(receiver.answers), gbps);
  std::printf("%llu doorbells written, %llu rung, %llu refused\n", n(receiver.rung), n(receiver.doorbells().rung()),
              n(receiver.refused));
  return receiver.good == messages && receiver.rung == receiver.doorbells().rung() && receiver.refused == 0 ? 0 : 1;
}
