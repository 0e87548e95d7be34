// SPDX-License-Identifier: Apache-2.0
// The frames of a capture, read and decoded ahead of the one who looks at them (stage.h).
//
//   R1  Memory is bounded: a batch ends with its kFrames-th frame, or with the one that makes it kBytes or longer.
//   R2  An error of the reader comes behind the frames before it.
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "bridge/rxnic/capture/stage.h"
#include "model/types/drop_reason.h"
#include "traces/capture_reader.h"

namespace rxnic {

struct FrameAhead : CapturedFrame {
  DropReason reason = DropReason::kNone;  // of a frame that cannot be read, when whoever reads has looked
  std::uint64_t copies = 0;               // left out so far
};

class FramesAhead {
 public:
  static constexpr std::size_t kFrames = 128, kBytes = std::size_t{1} << 15;
  using Next = std::function<bool(FrameAhead&)>;  // false at the end; called in the thread

  // `next` reads from `reader`, which is not touched outside of `next` until the end was reached.
  FramesAhead(CaptureReader& reader, Next next, bool thread)
      : reader_(reader), next_(std::move(next)), ahead_([this](Batch& b) { return fill(b); }, thread) {}

  // nullptr: the end. Valid until the next call. Throws what `next` throws.
  const FrameAhead* next();
  std::uint64_t position() const { return batch_.position; }  // bytes of the file, for a progress bar

 private:
  struct Batch {
    std::vector<FrameAhead> frames;
    std::size_t count = 0;
    std::vector<std::uint8_t> bytes;
    std::uint64_t position = 0;
  };
  bool fill(Batch& batch);

  CaptureReader& reader_;
  Next next_;
  bool ended_ = false;        // used in the thread, as is
  std::exception_ptr error_;  // this one
  Batch batch_;
  std::size_t at_ = 0;
  Ahead<Batch> ahead_;
};

}  // namespace rxnic
