// SPDX-License-Identifier: Apache-2.0
// Rules of model/systemc/tlm_doorbells.h; has() and ring() of model/system/host_side.h.
#include "model/systemc/tlm_doorbells.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <stdexcept>

#include "model/system/system.h"

namespace rxnic::tlm_doorbells_test {
namespace {

struct Driver : sc_core::sc_module {
  explicit Driver(const sc_core::sc_module_name& name) : sc_module(name) {}
  tlm_utils::simple_initiator_socket<Driver> socket{"socket"};
};

TEST(TlmDoorbells, OnlyDoorbellsThatTheNicHasAreRung) {  // R3
  LocalMemory memory;
  System system("system", {.requester = false}, memory);
  TlmDoorbells doorbells("doorbells", system.host(0));
  Driver driver("driver");
  driver.socket.bind(doorbells.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::uint64_t rung = 0;
  for (std::uint8_t number = 0; number < 8; ++number) {
    const auto kind = static_cast<DoorbellKind>(number);
    const bool known = number < Enumeration<DoorbellKind>::kValues.size() && kind != DoorbellKind::kSend;
    Doorbell doorbell;
    doorbell.kind = kind;
    std::array<std::uint8_t, kDoorbellBytes> bytes = doorbell_bytes(doorbell);
    tlm::tlm_generic_payload p;
    p.set_write();
    p.set_data_ptr(bytes.data());
    p.set_data_length(kDoorbellBytes);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    driver.socket->b_transport(p, delay);
    EXPECT_EQ(p.get_response_status(), known ? tlm::TLM_OK_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE) << int{number};
    EXPECT_EQ(doorbells.rung(), known ? ++rung : rung) << int{number};
    EXPECT_EQ(system.host(0).has(kind), known) << int{number};
    if (known) continue;
    EXPECT_THROW(system.host(0).ring(doorbell), std::invalid_argument) << int{number};
  }
}

}  // namespace
}  // namespace rxnic::tlm_doorbells_test
