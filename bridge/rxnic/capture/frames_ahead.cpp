// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/frames_ahead.h"

#include <utility>

namespace rxnic {

const FrameAhead* FramesAhead::next() {
  if (at_ == batch_.count) {
    at_ = 0;
    if (!ahead_.next(batch_)) {
      batch_.count = 0;
      return nullptr;
    }
  }
  return &batch_.frames[at_++];
}

bool FramesAhead::fill(Batch& batch) {
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  batch.frames.resize(kFrames);
  batch.bytes.clear();
  batch.count = 0;
  try {
    while (!ended_ && batch.count < kFrames && batch.bytes.size() < kBytes) {
      FrameAhead& frame = batch.frames[batch.count];
      ended_ = !next_(frame);
      if (ended_) break;
      batch.bytes.insert(batch.bytes.end(), frame.bytes.begin(), frame.bytes.end());
      ++batch.count;
    }
  } catch (...) {
    if (batch.count == 0) throw;
    error_ = std::current_exception();  // (R2)
  }
  std::size_t at = 0;
  for (std::size_t n = 0; n < batch.count; ++n) {
    Bytes& bytes = batch.frames[n].bytes;
    bytes = Bytes(batch.bytes).subspan(at, bytes.size());
    at += bytes.size();
  }
  batch.position = reader_.position();
  return batch.count != 0;
}

}  // namespace rxnic
