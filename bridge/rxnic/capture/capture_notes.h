// SPDX-License-Identifier: Apache-2.0
// What a report says of a capture besides the packets that were replayed. Its subjects: what cannot be read, tunnels,
// other ports, congestion, who else could be the receiver.
#pragma once

#include "bridge/rxnic/capture/replay.h"
#include "model/system/run_result.h"
#include "traces/capture_reader.h"
#include "traces/survey.h"

namespace rxnic {

// RDMA that cannot be read, by reason.
std::vector<UnreadableResult> unreadable_of(const CaptureSurvey& survey);
// Other UDP ports that seem to carry RoCEv2, in words.
std::vector<std::string> other_ports_of(const CaptureCensus& census);
// `reader` is at its end.
void note_capture(const ReplayOptions& o, const CaptureReader& reader, const CaptureSurvey& survey, RunResult& r);
// Who gets requests, the busiest first.
std::vector<PossibleReceiver> receivers_of(const CaptureSurvey& survey);
// Notes about that receiver.
void note_receiver(const CaptureSurvey& survey, const Address& receiver, RunResult& r);

}  // namespace rxnic
