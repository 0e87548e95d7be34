// SPDX-License-Identifier: Apache-2.0
// Host memory behind a TLM-2.0 initiator socket: what a NIC's DMA reads and writes becomes transport_dbg() of the
// target that is bound to it. When it does so and how long it takes stays with the DMA engine (dma_engine.*
// parameters): the target's own delays do not act.
//
//   R1  An address of the NIC is the payload's address. A target that transfers fewer bytes than were asked for does
//       not have the range. The access fails, as an access to memory that is not mapped.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <span>
#include <systemc>
#include <tlm>

#include "model/types/host_memory.h"

namespace rxnic {

class TlmMemory final : public sc_core::sc_module, public HostMemory {
 public:
  explicit TlmMemory(const sc_core::sc_module_name& name) : sc_module(name) {}
  tlm_utils::simple_initiator_socket<TlmMemory> socket{"socket"};

  bool read(BusAddress from, std::span<std::uint8_t> to) override {
    reads_ += 1;
    read_bytes_ += to.size();
    return transport(tlm::TLM_READ_COMMAND, from, to.data(), to.size());
  }
  bool write(BusAddress to, std::span<const std::uint8_t> from) override {
    writes_ += 1;
    written_bytes_ += from.size();
    return transport(tlm::TLM_WRITE_COMMAND, to, const_cast<std::uint8_t*>(from.data()), from.size());
  }
  // What was asked for so far.
  std::uint64_t reads() const { return reads_; }
  std::uint64_t read_bytes() const { return read_bytes_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t written_bytes() const { return written_bytes_; }

 private:
  bool transport(tlm::tlm_command command, BusAddress at, std::uint8_t* data, std::size_t bytes) {  // (R1)
    if (bytes == 0) return true;
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(raw(at));
    payload.set_data_ptr(data);
    payload.set_data_length(static_cast<unsigned>(bytes));
    payload.set_streaming_width(static_cast<unsigned>(bytes));
    return socket->transport_dbg(payload) == bytes;
  }
  std::uint64_t reads_ = 0, read_bytes_ = 0, writes_ = 0, written_bytes_ = 0;
};

}  // namespace rxnic
