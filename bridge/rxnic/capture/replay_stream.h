// SPDX-License-Identifier: Apache-2.0
// A capture as the NIC's stimulus: frames for the receiver go onto the wire. Frames that the receiver sent become
// requests of its host and answers to compare with.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "bridge/rxnic/capture/answer_stage.h"
#include "bridge/rxnic/capture/frames_ahead.h"
#include "bridge/rxnic/output/progress.h"
#include "model/system/wire_source.h"
#include "traces/host_plan.h"
#include "traces/unreadable_requests.h"

namespace rxnic {

class ReplayStream final : public StimulusStream {
 public:
  // `frames` with their `reason` and `copies`; `bytes`: of the file, for the progress bar.
  ReplayStream(FramesAhead& frames, std::uint64_t bytes, const Address& receiver, const HostPlan& plan,
               AnswerStage& answers, UnreadableRequests& unreadable, Progress& progress);

  // Why the model will drop a frame of the capture; kNone: it can be read.
  static DropReason unreadable_reason(const CapturedFrame& frame);
  // Whether the NIC's parser would find nothing wrong with the frame (model/blocks/rx_parser.h, R11), whose
  // unreadable_reason() is `reason`. Nobody has looked at a VCRC.
  static bool has_no_fault(const CapturedFrame& frame, DropReason reason) {
    return frame.status == ParseStatus::kOk && reason == DropReason::kNone && frame.link == LinkLayer::kEthernet;
  }

  // The capture's VCRCs are not those of its packets: frames end with their ICRC.
  void leave_vcrcs_out() { vcrcs_ = false; }
  bool next(Stimulus& item) override;
  // A region is registered in the place of another one, or a QP is connected anew.
  void control(const Stimulus& item, CommandQueue& driver) override;

  bool over() const { return over_; }  // next() has returned false
  std::uint64_t captured() const { return captured_; }
  std::uint64_t from_receiver() const { return from_receiver_; }
  std::uint64_t to_others() const { return to_others_; }
  std::uint64_t copies() const { return copies_; }  // that the filter has left out

 private:
  struct LocalQp {
    const QpPlan* plan = nullptr;
    Psn message_first;  // of the SEND or WRITE that is going out
    std::uint32_t message_bytes = 0;
    std::uint32_t wqe_index = 0;
  };
  static bool is_request(const Headers& h);
  bool is_for_another(const Headers& h) const;
  void connect_anew(CommandQueue& driver);
  bool from_receiver(const CapturedFrame& frame, Stimulus& item);
  bool request(const Headers& h, RequestNotice& out);

  struct Restart {
    SurveyedRestart at;
    const QpPlan* qp = nullptr;
  };
  FramesAhead& frames_;
  std::uint64_t bytes_;
  Address receiver_;
  AnswerStage& answers_;
  UnreadableRequests& unreadable_;
  Progress& progress_;
  std::map<std::uint32_t, Key> keys_;                             // registered, by index
  std::vector<Restart> restarts_;                                 // to come, the last first
  std::vector<const RegionPlan*> installs_;                       // still to be installed, the last first
  std::map<std::pair<Address, std::uint32_t>, LocalQp> by_peer_;  // by the peer's address and QPN
  const FrameAhead* frame_ = nullptr;                             // at hand
  bool vcrcs_ = true;
  bool over_ = false;
  std::uint64_t captured_ = 0;
  std::uint64_t from_receiver_ = 0;
  std::uint64_t to_others_ = 0;
  std::uint64_t copies_ = 0;
};

}  // namespace rxnic
