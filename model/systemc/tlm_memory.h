// SPDX-License-Identifier: Apache-2.0
// Host memory behind a TLM-2.0 initiator socket: what a NIC's DMA reads and writes becomes transactions of the target
// that is bound to it.
//
//     rxnic::TlmMemory dma{"dma", rxnic::TlmDelay::kOfTarget};
//
//   R1  An address of the NIC is the payload's address.
//   R2  kOfParameters: transport_dbg(). How long an access takes stays with the DMA engine (dma_engine.* parameters):
//       the target's own delays do not act. A target that transfers fewer bytes than were asked for does not have the
//       range.
//   R3  kOfTarget: b_transport(), once for each request of the DMA engine, in the cycle in which its first TLP starts.
//       `delay` comes with the time from sc_time_stamp() to that cycle, since the model runs ahead. What the target
//       adds is the host's latency of each TLP of the request (dma_engine.h, R16). It is the time until the host has
//       the TLP's data, or until a posted write is visible. It counts in picoseconds, part of one as a whole one.
//       What is due then happens in the first cycle that begins at or after it, as with a latency of the parameters.
//       Accesses that are not the DMA engine's take no time: transport_dbg(). They are a driver's, and a look at a WQE
//       whose read has come.
//   R4  A response other than TLM_OK_RESPONSE: the access fails, as one to memory that is not mapped (dma_engine.h,
//       R8). It takes its time all the same. What it has left in the buffer counts for nothing.
//   R5  The engine is an SC_METHOD: a target that calls wait() in b_transport() is an error of SystemC's. A target that
//       takes from the delay, or adds more than kLongestPs, is reported as kReport (SC_REPORT_ERROR) with the address
//       and the delay. Where the program has set that type not to throw, the access fails, at once or after
//       kLongestPs.
//   R6  DMI is not used, whatever the target allows or takes back: it would leave out the delays.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <span>
#include <sstream>
#include <systemc>
#include <tlm>

#include "model/types/host_memory.h"

namespace rxnic {

enum class TlmDelay : std::uint8_t { kOfParameters, kOfTarget };

class TlmMemory final : public sc_core::sc_module, public HostMemory {
 public:
  static constexpr std::uint64_t kLongestPs = 100'000'000;  // as a latency of the parameters (R5)
  static constexpr const char* kReport = "/rxnic/tlm_memory";

  explicit TlmMemory(const sc_core::sc_module_name& name, TlmDelay delay = TlmDelay::kOfParameters)
      : sc_module(name), delay_(delay) {}
  tlm_utils::simple_initiator_socket<TlmMemory> socket{"socket"};

  bool read(BusAddress from, std::span<std::uint8_t> to) override {
    count_read(to.size());
    return debug(tlm::TLM_READ_COMMAND, from, to.data(), to.size());
  }
  bool write(BusAddress to, std::span<const std::uint8_t> from) override {
    count_write(from.size());
    return debug(tlm::TLM_WRITE_COMMAND, to, const_cast<std::uint8_t*>(from.data()), from.size());
  }
  bool has_latency() const override { return delay_ == TlmDelay::kOfTarget; }
  TimedAccess read_at(std::uint64_t time_ps, BusAddress from, std::span<std::uint8_t> to) override {
    count_read(to.size());
    return transport(time_ps, tlm::TLM_READ_COMMAND, from, to.data(), to.size());
  }
  TimedAccess write_at(std::uint64_t time_ps, BusAddress to, std::span<const std::uint8_t> from) override {
    count_write(from.size());
    return transport(time_ps, tlm::TLM_WRITE_COMMAND, to, const_cast<std::uint8_t*>(from.data()), from.size());
  }
  // What was asked for so far.
  std::uint64_t reads() const { return reads_; }
  std::uint64_t read_bytes() const { return read_bytes_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t written_bytes() const { return written_bytes_; }

 private:
  struct Payload : tlm::tlm_generic_payload {
    Payload(tlm::tlm_command command, BusAddress at, std::uint8_t* data, std::size_t bytes) {
      set_command(command);
      set_address(raw(at));
      set_data_ptr(data);
      set_data_length(static_cast<unsigned>(bytes));
      set_streaming_width(static_cast<unsigned>(bytes));
    }
  };
  void count_read(std::size_t bytes) { ++reads_, read_bytes_ += bytes; }
  void count_write(std::size_t bytes) { ++writes_, written_bytes_ += bytes; }

  bool debug(tlm::tlm_command command, BusAddress at, std::uint8_t* data, std::size_t bytes) {  // (R2)
    if (bytes == 0) return true;
    Payload payload(command, at, data, bytes);
    return socket->transport_dbg(payload) == bytes;
  }
  TimedAccess transport(std::uint64_t time_ps, tlm::tlm_command command, BusAddress at, std::uint8_t* data,
                        std::size_t bytes) {  // (R3)
    const std::uint64_t ps = sc_core::sc_time(1, sc_core::SC_PS).value();
    Payload payload(command, at, data, bytes);
    const sc_core::sc_time ahead = sc_core::sc_time::from_value(time_ps * ps) - sc_core::sc_time_stamp();
    sc_core::sc_time delay = ahead;
    socket->b_transport(payload, delay);
    if (delay < ahead) return refuse(at, "less than", ahead, delay, 0);
    const std::uint64_t latency = ((delay - ahead).value() + ps - 1) / ps;
    if (latency > kLongestPs) return refuse(at, "more than 100 us above", ahead, delay, kLongestPs);
    return {payload.is_response_ok(), latency};  // (R4)
  }
  TimedAccess refuse(BusAddress at, const char* what, sc_core::sc_time given, sc_core::sc_time found,
                     std::uint64_t latency) const {  // (R5)
    std::ostringstream text;
    text << name() << ": address 0x" << std::hex << raw(at) << ": b_transport() has left a delay of " << found << ", "
         << what << " the " << given << " that it was given; expected up to 100 us more";
    SC_REPORT_ERROR(kReport, text.str().c_str());
    return {false, latency};
  }

  const TlmDelay delay_;
  std::uint64_t reads_ = 0, read_bytes_ = 0, writes_ = 0, written_bytes_ = 0;
};

}  // namespace rxnic
