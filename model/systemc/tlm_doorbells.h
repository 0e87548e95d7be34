// SPDX-License-Identifier: Apache-2.0
// The doorbell page of a NIC as a TLM-2.0 target: a driver that is modelled with TLM writes its doorbells there.
//
//   R1  A write of 16 bytes at any multiple of 16 is a doorbell: its port's bits, the lowest first (descriptors.toml,
//       Doorbell; doorbell_bytes() makes them). Bits above must be 0.
//   R2  The write is posted: b_transport() returns at once, with the delay that it was given. The doorbell is rung
//       after that delay, so that an initiator may run ahead of the kernel's time. Doorbells keep the order of their
//       times.
//   R3  Any other payload rings nothing, and is answered with TLM's error response for it. These are a command other
//       than a write (command), another length (burst), byte enables, and an address that is no multiple of 16
//       (address). For a doorbell that the NIC does not have the response is generic (host_side.h, has()).
#pragma once

#include <tlm_utils/simple_target_socket.h>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <systemc>

#include "model/system/host_side.h"
#include "model/types/descriptor_bits.h"

namespace rxnic {

inline constexpr std::size_t kDoorbellBytes = 16;
static_assert(8 * kDoorbellBytes >= Descriptor<Doorbell>::kBits);

// The bytes that a driver writes.
inline std::array<std::uint8_t, kDoorbellBytes> doorbell_bytes(const Doorbell& doorbell) {
  std::array<std::uint32_t, kDoorbellBytes / 4> words{};
  operations_of<Doorbell>().pack(&doorbell, words.data());
  std::array<std::uint8_t, kDoorbellBytes> bytes{};
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

class TlmDoorbells final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(TlmDoorbells);
  TlmDoorbells(const sc_core::sc_module_name& name, HostSide& host) : sc_module(name), host_(host) {
    socket.register_b_transport(this, &TlmDoorbells::b_transport);
    SC_METHOD(ring_due);
    sensitive << due_;
    dont_initialize();
  }
  tlm_utils::simple_target_socket<TlmDoorbells> socket{"socket"};
  std::uint64_t rung() const { return rung_; }

 private:
  void b_transport(tlm::tlm_generic_payload& p, sc_core::sc_time& delay) {
    Doorbell doorbell;
    p.set_response_status(status_of(p, doorbell));
    if (!p.is_response_ok()) return;
    if (delay == sc_core::SC_ZERO_TIME && waiting_.empty()) return ring(doorbell);
    waiting_.emplace(sc_core::sc_time_stamp() + delay, doorbell);  // (R2)
    due_.notify(waiting_.begin()->first - sc_core::sc_time_stamp());
  }
  tlm::tlm_response_status status_of(const tlm::tlm_generic_payload& p, Doorbell& doorbell) const {  // (R1) (R3)
    if (!p.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
    if (p.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
    if (p.get_data_length() != kDoorbellBytes) return tlm::TLM_BURST_ERROR_RESPONSE;
    if (p.get_address() % kDoorbellBytes != 0) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
    std::array<std::uint32_t, kDoorbellBytes / 4> words{};
    std::memcpy(words.data(), p.get_data_ptr(), kDoorbellBytes);
    operations_of<Doorbell>().unpack(words.data(), {}, &doorbell);
    const std::array<std::uint8_t, kDoorbellBytes> again = doorbell_bytes(doorbell);
    const bool whole = std::memcmp(again.data(), p.get_data_ptr(), kDoorbellBytes) == 0;
    return whole && host_.has(doorbell.kind) ? tlm::TLM_OK_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE;
  }
  void ring(const Doorbell& doorbell) {
    host_.ring(doorbell);
    ++rung_;
  }
  void ring_due() {
    while (!waiting_.empty() && waiting_.begin()->first <= sc_core::sc_time_stamp()) {
      ring(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
    if (!waiting_.empty()) due_.notify(waiting_.begin()->first - sc_core::sc_time_stamp());
  }

  HostSide& host_;
  std::multimap<sc_core::sc_time, Doorbell> waiting_;  // by when they are rung
  sc_core::sc_event due_;
  std::uint64_t rung_ = 0;
};

}  // namespace rxnic
