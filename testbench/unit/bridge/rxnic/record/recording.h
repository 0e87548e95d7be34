// SPDX-License-Identifier: Apache-2.0
// For tests that record a run of the programs of bridge_program.h.
#pragma once

#include <string>

#include "bridge/rxnic/record/recorder.h"
#include "model/params/config.h"
#include "model/params/params_table.h"
#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic {

// The run ends: all programs are gone.
inline void end_recording(Lab& lab, Recorder& recorder) {
  lab.own_port.over = true;
  lab.run(100'000);
  std::uint64_t cqes = 0;
  for (const auto& nic : lab.nics) cqes += nic->cqe_generator.counters().cqes;
  recorder.close(lab.engine.now(), cqes);
}

// Two programs on two NICs: sends, an RNR, a remote access error.
inline void record_pair(const std::string& folder) {
  const HostLogHeader header{
      2, "198.18.0.1", 1, {"program"}, std::string(kDefaultConfig), {}, params_toml(load_config())};
  Recorder recorder(folder, header);
  Lab lab(2, EngineMode::kFast, &recorder);
  lab.fabric->set_observer(&recorder);
  ConnectedPair rc(lab, QpType::kRc, 0, 1);
  rc.b.post_receive(rc.right.qp, rc.right.sge(3000));
  rc.a.post_send(rc.left.qp, {.sge = rc.left.sge(2000)});
  rc.a.ring_send(rc.left.qp);
  lab.run(5'000);
  rc.b.ring_receive(rc.right.qp);
  rc.b.wait_for(rc.right.cq);
  rc.a.wait_for(rc.left.cq);
  rc.a.post_send(rc.left.qp, {.opcode = SendOpcode::kWrite, .sge = rc.left.sge(100), .remote = {}});
  rc.a.ring_send(rc.left.qp);
  EXPECT_EQ(rc.a.wait_for(rc.left.cq).status, WcStatus::kRemoteAccess);
  rc.a.close();
  rc.b.close();
  end_recording(lab, recorder);
}

// Two programs on two NICs that send at the same time: both NICs read memory in the same cycles.
inline void record_side_by_side(const std::string& folder) {
  Recorder recorder(folder,
                    {2, "198.18.0.1", 1, {"program"}, std::string(kDefaultConfig), {}, params_toml(load_config())});
  Lab lab(2, EngineMode::kFast, &recorder);
  lab.fabric->set_observer(&recorder);
  ConnectedPair rc(lab, QpType::kRc, 0, 1);
  rc.a.post_receive(rc.left.qp, rc.left.sge(3000));
  rc.b.post_receive(rc.right.qp, rc.right.sge(3000));
  rc.a.ring_receive(rc.left.qp);
  rc.b.ring_receive(rc.right.qp);
  lab.run(5'000);
  rc.a.post_send(rc.left.qp, {.sge = rc.left.sge(2000)});
  rc.b.post_send(rc.right.qp, {.sge = rc.right.sge(2000)});
  rc.a.ring_send(rc.left.qp);
  rc.b.ring_send(rc.right.qp);
  for (int n = 0; n < 2; ++n) {
    rc.a.wait_for(rc.left.cq);
    rc.b.wait_for(rc.right.cq);
  }
  rc.a.close();
  rc.b.close();
  end_recording(lab, recorder);
}

}  // namespace rxnic
