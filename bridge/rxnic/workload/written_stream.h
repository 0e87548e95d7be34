// SPDX-License-Identifier: Apache-2.0
// The packets of a workload from the file that a run of it has written.
#pragma once

#include <string>

#include "bridge/rxnic/output/progress.h"
#include "model/system/wire_source.h"
#include "traces/capture_reader.h"

namespace rxnic {

class WrittenStream final : public StimulusStream {
 public:
  // Throws TraceError.
  WrittenStream(const std::string& path, Progress& progress) : reader_(path), progress_(progress) {}
  bool next(Stimulus& item) override;
  std::uint64_t packets() const { return packets_; }

 private:
  CaptureReader reader_;
  Progress& progress_;
  CapturedFrame frame_;
  std::uint64_t packets_ = 0;
};

}  // namespace rxnic
