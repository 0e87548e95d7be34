// SPDX-License-Identifier: Apache-2.0
// The first look at a capture: what it shows of its connections, without what the sniffer did to it.
#pragma once

#include <functional>

#include "bridge/rxnic/output/progress.h"
#include "traces/capture_reader.h"
#include "traces/sniffer.h"
#include "traces/survey.h"

namespace rxnic {

struct SurveyedCapture {
  CaptureSurvey survey;
  SnifferEffects effects;
};

// 512 bit times, what a pause counts in (IEEE 802.3, 31B.2).
inline std::uint64_t pause_quantum_ps(std::uint64_t link_gbps) { return 512 * 1000 / link_gbps; }

// Reads the capture from where it stands, in a thread where that is asked for (stage.h). It is read once more when the
// sniffer's effects change what a survey sees. `also` is given each frame of the first time. Throws TraceError: no
// packet, or as CaptureReader.
SurveyedCapture survey_run(CaptureReader& reader, const SurveyLimits& limits, Progress& progress, bool threads,
                           const std::function<void(const CapturedFrame&)>& also = {});

}  // namespace rxnic
