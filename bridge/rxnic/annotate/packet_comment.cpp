// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/annotate/packet_comment.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/explain/packet_words.h"
#include "model/types/completion_codes.h"
#include "model/types/opcode.h"
#include "model/types/syndrome.h"
#include "traces/answer_compare.h"
#include "traces/pcapng_blocks.h"

namespace rxnic {

namespace {

std::string_view verdict_name(AnswerVerdict verdict) {
  switch (verdict) {
    case AnswerVerdict::kEqual:
    case AnswerVerdict::kCovered:
      return "equal";
    case AnswerVerdict::kGiven:
      return "given";
    case AnswerVerdict::kDifferent:
      return "different";
    case AnswerVerdict::kNotCompared:
      break;
  }
  return "not compared";
}

// Not known of a packet that cannot be read: they are zeros.
bool has_headers(const PacketRow& row) { return row.has(kPacketChecked) || row.qp != 0 || row.psn != 0; }

std::string after(std::uint64_t begun_ps, std::uint64_t ps) {
  return ps >= begun_ps ? time_text(ps - begun_ps) + " after" : "before";
}

}  // namespace

PacketComments::PacketComments(RunEvents& events, const PacketNotes* notes, const Findings& findings)
    : events_(events), notes_(notes), findings_(findings), window_(events, [this](const FrameRow& row) {
        if (notes_ == nullptr) return;
        const auto found = notes_->uncaptured().find(row.number);
        if (found != notes_->uncaptured().end()) uncaptured_.emplace(row.answered, found->second);
      }) {
  all_packets_ = events.has_all_packets();
}

void PacketComments::load(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> frames;
  if (notes_ != nullptr) {
    for (const PacketNotes::Answer& answer : notes_->answers(first, last)) {
      if (answer.model != 0) frames.push_back(answer.model);
    }
  }
  std::ranges::sort(frames);
  window_.load(first, last, frames);
}

PacketComment PacketComments::of(std::uint64_t number, const CapturedFrame* frame) {
  PacketComment out;
  const std::vector<const PacketRow*> rows = window_.packets(number);
  seen_.resize(number);
  if (frame != nullptr) seen_.back().captured_ps = frame->time_ps;
  if (!rows.empty()) seen_.back().arrived_ps = rows.front()->arrived * events_.period_ps();
  for (const PacketRow* const at : rows) {
    const PacketRow& row = *at;
    const std::string nic = events_.nics() > 1 ? fmt::format("nic{}: ", row.nic) : std::string();
    out.words += (out.words.empty() ? "" : " | ") + nic + of_row(row);
    if (row.has(kPacketNotRdma) || !out.verdict.empty()) continue;
    if (has_headers(row)) out.queue = static_cast<std::uint32_t>(row.qp);
    out.verdict = {0, static_cast<std::uint8_t>(row.outcome), static_cast<std::uint8_t>(row.reason)};
  }
  if (!rows.empty() && notes_ != nullptr) out.direction = kInbound;
  if (rows.empty()) without_row(number, frame, out);
  const auto [from, to] = uncaptured_.equal_range(number);
  for (auto at = from; at != to; ++at) out.words += "; no captured answer: different: " + at->second;
  if (const auto found = findings_.find(number); found != findings_.end()) out.words += "; " + found->second;
  return out;
}

// (R1)
std::string PacketComments::of_row(const PacketRow& row) const {
  const std::uint64_t period = events_.period_ps();
  if (row.has(kPacketNotRdma)) return "not RDMA: for other protocols";
  const bool dropped = row.reason != static_cast<std::uint64_t>(DropReason::kNone);
  std::string out = dropped ? "dropped: " + refusal(row.outcome, row.reason, row.syndrome)
                            : "accepted: " + acceptance(row.outcome, row.syndrome);
  if (has_headers(row)) out += fmt::format("; QP {:#x} PSN {}", row.qp, row.psn);
  const bool asks_again = row.outcome == static_cast<std::uint64_t>(Outcome::kNak) && row.syndrome == kNakSequence;
  if (asks_again) out += fmt::format("; expected PSN {}", row.answer_psn);
  if (row.has(kPacketCongested)) out += "; marked Congestion Experienced";
  const bool executed = !dropped && row.outcome == static_cast<std::uint64_t>(Outcome::kExecute);
  if (executed && row.has(kPacketChecked)) {
    out += row.has(kPacketEndsMessage)
               ? fmt::format("; ends message {} of its QP, of {} bytes", row.message, row.message_bytes)
               : fmt::format("; of message {} of its QP", row.message);
  }
  out += fmt::format("; {} in the NIC", time_text((row.left - row.arrived) * period));
  if (const CompletionRow* const c = window_.completion(row.number, row.nic)) {
    const std::uint64_t begun = c->begun == kNoTime ? row.arrived : c->begun;
    out += fmt::format("; CQE {} of WQE {}, visible {} its message began", name_of(value_of<WcStatus>(c->status)),
                       c->wqe, after(begun * period, c->visible * period));
  }
  return out + answers_of(row);
}

std::string PacketComments::answers_of(const PacketRow& row) const {
  const EventWindow::Answers* const answers = notes_ == nullptr ? nullptr : window_.answers(row.number);
  if (answers == nullptr) {
    const bool silent = notes_ == nullptr || !row.has(kPacketAcknowledges);
    return silent ? "" : "; no answer of its own: a later one acknowledges it, or none is kept";
  }
  const FrameRow& f = answers->first;
  std::string out = fmt::format("; the model sent {} PSN {}", answer_name(f), f.psn);
  const std::uint32_t traits = opcode_info(static_cast<std::uint8_t>(f.opcode)).traits;
  if ((traits & kHasAeth) != 0) out += fmt::format(" MSN {}", f.msn);
  out += fmt::format(", {} it arrived (frame {}{})", after(row.arrived * events_.period_ps(), f.left_ps), f.number,
                     answers->count > 1 ? fmt::format(", and {} more", answers->count - 1) : std::string());
  const PacketNotes::Answer* const captured = notes_->compared_with(f.number);
  if (captured == nullptr) return out;
  return out + fmt::format("; the captured receiver's is packet {} ({})", captured->captured,
                           verdict_name(captured->verdict));
}

// (R2)
std::string PacketComments::of_answer(const PacketNotes::Answer& answer) const {
  std::string out = fmt::format("captured answer: {}", verdict_name(answer.verdict));
  if (answer.verdict == AnswerVerdict::kNotCompared) return out + fmt::format(" ({})", uncompared_name(answer.reason));
  if (answer.verdict == AnswerVerdict::kCovered) out += ", a later answer of the model covers it";
  if (answer.verdict == AnswerVerdict::kDifferent) out += fmt::format(": {}", notes_->words(answer.captured));
  const FrameRow* const f = window_.frame(answer.model);
  if (f == nullptr) return out;
  out += fmt::format("; the model's is frame {}", f->number);
  const std::uint64_t asked = f->answered;
  if (asked == 0 || asked >= answer.captured || asked > seen_.size()) return out;
  const Seen& request = seen_[asked - 1];
  return out + fmt::format("; {} packet {} in the capture, {} it in the model",
                           after(request.captured_ps, seen_[answer.captured - 1].captured_ps), asked,
                           after(request.arrived_ps, f->left_ps));
}

// (R3)
void PacketComments::without_row(std::uint64_t number, const CapturedFrame* frame, PacketComment& out) const {
  if (frame == nullptr) {
    out.words = "no packet: a record of the capture device";
    return;
  }
  out.words = all_packets_ ? "not in the NIC: the run had ended, or no NIC was to receive it"
                           : "not kept: the events are of other packets (--events-packets, --events-limit ...)";
  if (notes_ == nullptr) return;
  if (std::ranges::binary_search(notes_->copies, number)) {
    out.words = "left out: a copy of another packet, made by the sniffer";
    return;
  }
  const ParseStatus status = frame->status;
  const Headers& h = frame->headers;
  if (status == ParseStatus::kNotRdma) return;
  if (h.source == notes_->receiver) {
    out.direction = kOutbound;
    const PacketNotes::Answer* const answer = notes_->answer(number);
    const bool asks = status == ParseStatus::kOk && (opcode_info(h.opcode).traits & kRequest) != 0;
    out.words = answer != nullptr ? of_answer(*answer)
                : asks            ? "sent by the receiver: a request of its host"
                                  : "sent by the receiver: not readable, or no answer";
    if (answer != nullptr && answer->own != Qpn{}) out.queue = raw(answer->own);
  } else if (h.destination != notes_->receiver && !h.destination.is_multicast()) {
    out.words = "for another host";
  }
}

}  // namespace rxnic
