// SPDX-License-Identifier: Apache-2.0
// The RTL of blocks of NICs (testbench/cosim): in lockstep with them, or in their place.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/nic/nic.h"
#include "testbench/cosim/lockstep.h"
#include "testbench/cosim/rtl_block.h"
#include "testbench/cosim/transactions.h"
#include "testbench/sim/rtl_options.h"

namespace rxnic {

// Model and RTL differ, or too little of them was compared.
class LockstepError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class NicRtl {
 public:
  // nullptr when nothing is asked for.
  static std::unique_ptr<NicRtl> make(const RtlRequest& request, const Params& params, Engine& engine);

  // Before the simulation starts. Throws std::invalid_argument: there is no such RTL.
  void add(Nic& nic);
  // After the simulation. What was compared, in lines. Throws LockstepError. A NIC may have had nothing to do for a
  // block, but not all of them.
  std::vector<std::string> finish();

 private:
  NicRtl(RtlRequest request, const Params& params, Engine& engine)
      : request_(std::move(request)), params_(params), engine_(engine) {}

  void add_lockstep(Nic& nic, const RtlChoice& choice);
  void add_rtl(Nic& nic, const RtlChoice& choice);

  RtlRequest request_;
  const Params params_;
  Engine& engine_;
  std::vector<std::pair<std::string, std::unique_ptr<Lockstep>>> lockstep_;  // by the block's name
  std::vector<std::pair<std::string, std::unique_ptr<TransactionLockstep>>> transactions_;
  std::vector<std::pair<std::string, std::unique_ptr<RtlBlock>>> rtl_;
};

}  // namespace rxnic
