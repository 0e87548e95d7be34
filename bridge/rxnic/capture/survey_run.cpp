// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/survey_run.h"

#include <fmt/format.h>

#include "bridge/rxnic/capture/frames_ahead.h"
#include "model/core/wire/parsed.h"

namespace rxnic {

SurveyedCapture survey_run(CaptureReader& reader, const SurveyLimits& limits, Progress& progress, bool threads,
                           const std::function<void(const CapturedFrame&)>& also) {
  constexpr std::uint64_t kProgressFrames = 4096;
  SurveyedCapture found{CaptureSurvey(&wrong_checksum, limits), {}};
  {
    SnifferSurvey sniffer;
    const auto next = [&reader, &sniffer](FrameAhead& frame) {
      if (!reader.next(frame)) return false;
      sniffer.add(frame);
      return true;
    };
    FramesAhead frames(reader, next, threads);
    while (const FrameAhead* frame = frames.next()) {
      found.survey.add(*frame);
      if (also) also(*frame);
      if (frame->number % kProgressFrames == 0 && progress.drawing())
        progress.update(frames.position(), reader.size(), fmt::format("{} packets", frame->number));
    }
    if (reader.frames() == 0) throw TraceError(reader.name(), 0, "no packet", "a capture with packets");
    found.effects = sniffer.finish();
  }
  if (!found.effects.any_change()) return found;
  found.survey = CaptureSurvey(&wrong_checksum, limits);
  std::vector<std::uint64_t> restarts;
  for (const SnifferEffects::NewConnection& c : found.effects.restarts) restarts.push_back(c.packet);
  found.survey.set_restarts(std::move(restarts));
  reader.rewind();
  SnifferFilter filter(reader, found.effects);
  FramesAhead frames(
      reader, [&filter](FrameAhead& frame) { return filter.next(frame); }, threads);
  while (const FrameAhead* frame = frames.next()) found.survey.add(*frame);
  return found;
}

}  // namespace rxnic
