// SPDX-License-Identifier: Apache-2.0
// A system of NICs for a program that embeds the model. It lives in the SystemC kernel of the program, which starts it
// with sc_start().
//
//     rxnic::LocalMemory memory;
//     rxnic::System system("system", {}, memory);
//     system.wire(0).on_frame([](rxnic::Bytes frame, std::uint64_t time_ps) { ... });
//     system.wire(0).send(frame);
//     sc_core::sc_start();
//
//   R1  Each NIC has tables of its own; `memory` is what their DMA reaches besides, at bus addresses below 2^62.
//   R2  Each NIC has a wire of its own, or all are on a fabric (SystemOptions::fabric): then there is no wire(). All
//       lines of a fabric have the parameters of the system.
//   R3  All NICs are in one clock domain.
//   R4  Nothing that is called from handlers depends on the engine's mode or the step order (wire_end.h, host_side.h).
//   R5  sc_stop() ends the simulation when the model gives the kernel its turn, Engine::stop() with the cycle.
#pragma once

#include <memory>
#include <systemc>
#include <vector>

#include "model/engine/engine.h"
#include "model/nic/fabric.h"
#include "model/nic/nic.h"
#include "model/params/config.h"
#include "model/system/host_side.h"
#include "model/system/run_result.h"
#include "model/system/wire_end.h"

namespace rxnic {

struct SystemOptions {
  Params params = load_config(kDefaultConfig);
  std::vector<Params> each{};  // of NIC n: each[n]; empty: all have `params`
  std::uint32_t nics = 1;      // 1 to 64
  bool requester = true;       // false: no send queues; what they send is sent outside the model
  bool fabric = false;         // (R2)
  EngineMode mode = EngineMode::kFast;
  StepOrder order{};
  std::uint64_t quantum_cycles = EngineParams{}.quantum_cycles;  // longest run-ahead of the kernel's time
  NicBlocks blocks{};                                            // blocks of one's own (model/nic/nic_blocks.h)
  NicPolicies policies{};                                        // policies of one's own (model/nic/nic_policies.h)
};

// What a NIC has read and written of its own tables.
struct TableTraffic {
  std::uint64_t read_bytes = 0, written_bytes = 0;
};

class System final : public sc_core::sc_module {
 public:
  // Throws std::invalid_argument: a number of NICs that there may not be, a parameter out of its range. Likewise for
  // parameters that do not go together (R2, R3), and for a kernel whose time has no picoseconds.
  System(const sc_core::sc_module_name& name, const SystemOptions& options, HostMemory& memory);
  ~System() override;

  std::uint32_t nics() const { return static_cast<std::uint32_t>(stations_.size()); }
  // The parts of NIC n. They throw std::out_of_range.
  Nic& nic(std::uint32_t n);
  WireEnd& wire(std::uint32_t n);  // (R2)
  HostSide& host(std::uint32_t n);
  const TableTraffic& tables(std::uint32_t n);
  // On a fabric, before the simulation starts: the addresses by which NIC n is found; each NIC once, in order. Throws
  // std::logic_error when that is not so (sc_start() does, too), std::invalid_argument for too many addresses.
  void attach(std::uint32_t n, const PortAddress& address);

  // The figures of a report so far: the system's parameters, cycles, state hash, and what each NIC has counted, with
  // the sums over all. Payload, latencies and tables stay empty: they are an observer's (model/system/latencies.h). The
  // model may have run ahead of sc_time_stamp(), by `quantum_cycles` at most: it knows no end of sc_start(T). To look
  // at a time, have a process wait until then.
  RunResult result();

  Engine engine;

 private:
  class Memory;
  struct Station;  // a NIC and what belongs to it
  Station& station(std::uint32_t n);

  void start_of_simulation() override;

  const Params params_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::unique_ptr<Fabric> fabric_;
  std::uint32_t attached_ = 0;
};

}  // namespace rxnic
