// SPDX-License-Identifier: Apache-2.0
// Host memory that is a TLM-2.0 target with delays of its own. They are 200 ns for the receive buffers of
// one QP, 900 ns for those of another, 50 ns elsewhere. Prints when the SENDs to each are completed after they were put
// on the wire.
#include <tlm_utils/simple_target_socket.h>
#include <cstdio>
#include <span>

#include "model/systemc/tlm_memory.h"
#include "receiver.h"

namespace {

using sc_core::sc_time;

class TwoQueues final : public Receiver {
 public:
  TwoQueues(const sc_core::sc_module_name& name, const rxnic::SystemOptions& options, rxnic::TlmMemory& dma)
      : Receiver(name, options, {.queues = 2, .messages = 1000, .bytes = 256, .gap_ns = 5000}, &dma) {
    dma.socket.bind(socket);
    socket.register_b_transport(this, &TwoQueues::b_transport);
    socket.register_transport_dbg(this, &TwoQueues::transport_dbg);
  }
  tlm_utils::simple_target_socket<TwoQueues> socket{"socket"};
  sc_time took[2], took_by_target[2];  // by QP: its last message, and the write of its payload

 private:
  // The time of an access is sc_time_stamp() + delay: the model runs ahead of SystemC's time.
  void b_transport(tlm::tlm_generic_payload& p, sc_time& delay) {
    const std::uint64_t queue = p.get_address() < kBuffers ? 2 : (p.get_address() - kBuffers) / (kSlots * kPage);
    const sc_time latency(queue == 0 ? 200 : queue == 1 ? 900 : 50, sc_core::SC_NS);
    if (queue < 2) took_by_target[queue] = latency;
    delay += latency;
    const bool ok = transport_dbg(p) == p.get_data_length();
    p.set_response_status(ok ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  unsigned transport_dbg(tlm::tlm_generic_payload& p) {
    const rxnic::BusAddress at{p.get_address()};
    const std::span bytes(p.get_data_ptr(), p.get_data_length());
    return (p.is_read() ? memory.read(at, bytes) : memory.write(at, bytes)) ? p.get_data_length() : 0;
  }
  void put(const std::vector<std::uint8_t>& frame) override {
    put_ = sc_core::sc_time_stamp();
    Receiver::put(frame);
  }
  void completed(std::uint32_t q) override { took[q] = system.engine.time_of(system.engine.now()) - put_; }

  sc_time put_;
};

}  // namespace

int sc_main(int, char**) {
  rxnic::SystemOptions options{.requester = false};
  options.params.nic.clock_period_ps = 1000;  // so that 700 ns are whole cycles
  rxnic::TlmMemory dma("dma", rxnic::TlmDelay::kOfTarget);
  TwoQueues top("top", options, dma);
  sc_core::sc_start();
  std::printf("%u of 1000 SENDs completed\n", top.good);
  for (int q = 0; q < 2; ++q) {
    std::printf("QP %d: the target took %s, the last SEND was completed after %s\n", q,
                top.took_by_target[q].to_string().c_str(), top.took[q].to_string().c_str());
  }
  const sc_time difference = top.took[1] - top.took[0];
  const bool same = difference == top.took_by_target[1] - top.took_by_target[0];
  std::printf("the difference is %s%s\n", difference.to_string().c_str(), same ? ", as at the target" : "");
  return top.good == 1000 && same ? 0 : 1;
}
