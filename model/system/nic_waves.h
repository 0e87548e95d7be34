// SPDX-License-Identifier: Apache-2.0
// The waveforms of NICs (model/engine/waves.h), with the packets in their buffers.
//
//   R1  A packet's number is that of its frame in the capture, or among all frames of programs (wire.pcap). A response
//       has the number of the packet that it answers until it is a frame on the wire.
//   R2  QPN, PSN and opcode are those of its BTH.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/engine/waves.h"
#include "model/nic/nic.h"
#include "model/system/waves_request.h"

namespace rxnic {

class NicWaves {
 public:
  // nullptr when none are wanted. Throws std::runtime_error when the file cannot be made.
  static std::unique_ptr<NicWaves> make(const WavesRequest& request, Engine& engine);
  ~NicWaves();

  void add(const Nic& nic);
  // After the simulation. What the user should know about the window; empty: nothing. Throws std::runtime_error when a
  // file cannot be written.
  std::string finish();

 private:
  class Packets;
  NicWaves(const WavesRequest& request, Engine& engine);

  Engine& engine_;
  WavesRequest request_;
  Waves waves_;
  std::vector<std::unique_ptr<Packets>> packets_;
};

}  // namespace rxnic
