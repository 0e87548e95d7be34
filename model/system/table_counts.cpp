// SPDX-License-Identifier: Apache-2.0
#include "model/system/table_counts.h"

#include <algorithm>

#include "model/types/completion_codes.h"
#include "model/types/event.h"
#include "model/types/station.h"
#include "model/types/syndrome.h"

namespace rxnic {

void TableCounts::count_nak(std::uint8_t syndrome) {
  if (ack_kind(syndrome) == AckKind::kRnrNak) {
    ++rnr_naks;
  } else if (syndrome >= kNakSequence && syndrome <= kNakRemoteOperation) {
    ++naks[syndrome - kNakSequence];
  }
}

void TableCounts::count(const QpEvent& event) {
  switch (event.kind) {
    case QpEventKind::kGap:
      ++psn_gaps;
      missing_psns += event.detail;
      break;
    case QpEventKind::kNak:
      count_nak(static_cast<std::uint8_t>(event.detail));
      break;
    case QpEventKind::kTimeout:
      ++timeouts;
      break;
    case QpEventKind::kErrorCqe:
      ++error_cqes;
      break;
    case QpEventKind::kCnp:
      ++cnps_sent;
      break;
    case QpEventKind::kRnrWait:
      ++rnr_waits;
      break;
    case QpEventKind::kWentBack:
      ++went_back;
      break;
    case QpEventKind::kSentAgain:
      ++sent_again;
      break;
    case QpEventKind::kDrop:  // counted with its packet
    case QpEventKind::kNetwork:
    case QpEventKind::kAsync:
    case QpEventKind::kCount:
      break;
  }
}

void TableCounts::add(const TableCounts& o) {
  first = std::min(first, o.first);
  last = std::max(last, o.last);
  cycles += o.cycles;
  longest_pause = std::max(longest_pause, o.longest_pause);
  wait_cycles += o.wait_cycles;
  for (std::size_t n = 0; n < naks.size(); ++n) naks[n] += o.naks[n];
  for (std::uint64_t RowCounts::*count :
       {&RowCounts::packets, &RowCounts::messages, &RowCounts::payload_bytes, &RowCounts::not_carried_out,
        &RowCounts::psn_ahead, &RowCounts::psn_gaps, &RowCounts::missing_psns, &RowCounts::repeats,
        &RowCounts::rnr_naks, &RowCounts::error_cqes, &RowCounts::marked, &RowCounts::cnps_sent,
        &RowCounts::cnps_received, &RowCounts::timeouts, &RowCounts::rnr_waits, &RowCounts::went_back,
        &RowCounts::sent_again}) {
    this->*count += o.*count;
  }
}

TableFigures figures_of(const TableCounts& c, const StationWaits* waits, std::uint64_t period_ps) {
  TableFigures f;
  static_cast<RowCounts&>(f) = c;
  const double ps = static_cast<double>((c.last - std::min(c.first, c.last)) * period_ps);
  f.payload_gbps = ps > 0 ? static_cast<double>(c.payload_bytes) * 8e3 / ps : 0.0;
  const auto mean_ns = [&](std::uint64_t cycles) {
    return c.packets == 0 ? 0.0 : static_cast<double>(cycles * period_ps) / 1000 / static_cast<double>(c.packets);
  };
  f.mean_ns = mean_ns(c.cycles);
  f.wait_ns = mean_ns(c.wait_cycles);
  if (waits != nullptr && c.wait_cycles != 0) {
    f.waits_most_at = name_of(static_cast<Station>(std::ranges::max_element(*waits) - waits->begin()));
  }
  f.longest_pause_ns = c.longest_pause * period_ps / 1000;
  return f;
}

}  // namespace rxnic
