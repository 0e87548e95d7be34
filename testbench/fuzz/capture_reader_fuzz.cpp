// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture: the reader, the survey and the host plan end in a TraceError or in counts. A name or a limit
// that grows with the input would show as memory.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "traces/answer_compare.h"
#include "traces/capture_reader.h"
#include "traces/host_plan.h"
#include "traces/survey.h"

namespace {

void look_at(rxnic::CaptureReader& reader) {
  using namespace rxnic;
  const CaptureSurvey survey = survey_capture(reader);
  for (const EndpointCounts& end : survey.endpoints()) {
    const ReceiverSurvey receiver = survey.of_receiver(end.address);
    const HostPlan plan = make_host_plan(receiver, {});
    if (plan.qps.size() != receiver.qps.size()) std::abort();
    AnswerCompare compare(receiver);
    reader.rewind();
    std::uint64_t last = 0;
    for (CapturedFrame f; reader.next(f);) {
      if (f.time_ps < last) std::abort();
      last = f.time_ps;
      Headers h;
      if (parse(f.bytes, f.link, h) != ParseStatus::kOk) continue;
      if (h.destination == end.address) compare.request(h);
      if (h.source != end.address) continue;
      compare.captured(h, f.number);
      compare.model(h, f.number);
    }
    compare.finish();
    if (compare.counts().compared != compare.counts().equal + compare.counts().different) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;  // fmemopen refuses it
  try {
    rxnic::CaptureReader reader([data, size] { return ::fmemopen(const_cast<std::uint8_t*>(data), size, "rb"); },
                                "input");
    look_at(reader);
  } catch (const rxnic::TraceError&) {
    // named: all is well
  }
  return 0;
}
