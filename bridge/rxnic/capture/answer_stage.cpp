// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/answer_stage.h"

#include <stdexcept>

namespace rxnic {

void AnswerStage::restart(const Address& peer, Qpn own) {
  Headers h;
  h.source = peer;
  h.destination_qp = own;
  add({.kind = Kind::kRestart}, h);
}

void AnswerStage::model(Bytes frame, LinkLayer link, std::uint64_t time_ps, bool written) {
  log_.frames.insert(log_.frames.end(), frame.begin(), frame.end());
  add({Kind::kModel, link, written, {}, static_cast<std::uint32_t>(frame.size()), time_ps});
}

void AnswerStage::finish() {
  behind_.add(log_);
  behind_.finish();
}

void AnswerStage::carry_out(Log& log) {
  auto headers = log.headers.cbegin();
  Bytes frames = log.frames;
  for (const Entry& e : log.entries) {
    switch (e.kind) {
      case Kind::kRequest:
        compare_.request(*headers++);
        break;
      case Kind::kCaptured:
        compare_.captured(*headers++, e.number);
        break;
      case Kind::kLeftOut:
        compare_.leave_out(e.reason, e.number);
        break;
      case Kind::kRestart:
        compare_.restart(headers->source, headers->destination_qp);
        ++headers;
        break;
      case Kind::kModel:
        model(frames.first(e.bytes), e);
        frames = frames.subspan(e.bytes);
        break;
    }
  }
  log.entries.clear();
  log.headers.clear();
  log.frames.clear();
}

void AnswerStage::model(Bytes frame, const Entry& entry) {
  file_.write(frame, entry.link, entry.number, entry.written);
  Headers h;
  if (parse(frame, entry.link, h) != ParseStatus::kOk) {
    throw std::logic_error("an answer of the model does not parse");
  }
  compare_.model(h, ++sent_);
}

}  // namespace rxnic
