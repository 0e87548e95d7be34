// SPDX-License-Identifier: Apache-2.0
// WQEs of send queues that bind memory windows and invalidate keys (R11, R12 of command_processor.h; what is allowed:
// core/memory/translation.h).
#include <cstddef>

#include "model/blocks/command_processor.h"

namespace rxnic {

// Writes an entry of the table from the buffer.
CommandProcessor::Next CommandProcessor::write_entry(const MptEntry& entry, Cycle now) {
  std::memcpy(buffer_.data(), &entry, sizeof entry);
  return write(mpt_address(Key{entry.key}), sizeof entry, now);
}

CommandProcessor::Next CommandProcessor::write_count(const MptEntry& region, Cycle now) {
  std::memcpy(buffer_.data(), &region.windows, sizeof region.windows);
  return write(mpt_address(Key{region.key}) + offsetof(MptEntry, windows), sizeof region.windows, now);
}

CommandProcessor::Next CommandProcessor::refuse_window() {
  ++counters_.windows_refused;
  reply_.status = CommandStatus::kRefused;
  ends_ = true;
  return Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::read_window(Cycle now) {
  return read(mpt_address(window_.key), sizeof(MptEntry), now);
}

CommandProcessor::Next CommandProcessor::check_window(Cycle now) {
  entry_ = mailbox<MptEntry>();
  was_bound_ = entry_.invalidated == 0;
  region_entry_ = {};
  if (!may_bind(entry_, binding(), accessor())) return refuse_window();
  return window_.length == 0 ? Next::kGoesOn : read(mpt_address(window_.region), sizeof(MptEntry), now);
}

CommandProcessor::Next CommandProcessor::write_window(Cycle now) {
  if (window_.length > 0) {
    region_entry_ = mailbox<MptEntry>();
    if (!may_bind_to(region_entry_, window_.region, binding(), accessor())) return refuse_window();
  }
  ++(window_.length > 0 ? counters_.windows_bound : counters_.keys_invalidated);
  return write_entry(bound(entry_, binding(), region_entry_, accessor()), now);
}

CommandProcessor::Next CommandProcessor::invalidate_key(Cycle now) {
  entry_ = mailbox<MptEntry>();
  was_bound_ = true;
  region_entry_ = {};
  if (!may_invalidate(entry_, window_.key, accessor())) return refuse_window();
  ++counters_.keys_invalidated;
  MptEntry entry = entry_;
  entry.invalidated = 1;
  entry.bound_to = 0;
  return write_entry(entry, now);
}

CommandProcessor::Next CommandProcessor::forget_window(Cycle now) {
  RegionCommand c;
  c.key = Key{entry_.key};
  return ask(regions, c, now);
}

// What was begun with the old key, when that allowed anything.
CommandProcessor::Next CommandProcessor::wait_for_packets(Cycle now) {
  return was_bound_ ? ask(retirements, {region_.packets, Key{entry_.key}}, now) : Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::wait_for_responses(Cycle now) {
  return was_bound_ ? wait_for_gathers(now) : Next::kGoesOn;
}

// (R12)

CommandProcessor::Next CommandProcessor::read_bound_region(Cycle now) {
  entry_ = mailbox<MptEntry>();
  region_entry_ = {};
  if (entry_.valid == 0 || !is_window(entry_.kind)) return end(CommandStatus::kNoObject);  // (R5)
  if (entry_.bound_to == 0) return end(CommandStatus::kDone);
  return read(mpt_address(Key{entry_.bound_to}), sizeof(MptEntry), now);
}

CommandProcessor::Next CommandProcessor::release_window(Cycle now) {
  was_bound_ = entry_.invalidated == 0;
  if (was_bound_ && is_bound_to(mailbox<MptEntry>())) return end(CommandStatus::kDone);
  MptEntry entry = entry_;
  entry.invalidated = 1;
  entry.bound_to = 0;
  return write_entry(entry, now);
}

// With the pages that were looked up by its key since the region has gone.
CommandProcessor::Next CommandProcessor::forget_released(Cycle now) {
  return was_bound_ ? invalidate(now) : Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::read_old_region(Cycle now) {
  const Key region{entry_.bound_to};
  if (raw(region) == 0 || raw(region) == region_entry_.key) return Next::kGoesOn;
  return read(mpt_address(region), sizeof(MptEntry), now);
}

CommandProcessor::Next CommandProcessor::uncount_window(Cycle now) {
  if (entry_.bound_to == 0 || entry_.bound_to == region_entry_.key) return Next::kGoesOn;
  auto region = mailbox<MptEntry>();
  if (!is_bound_to(region)) return Next::kGoesOn;  // it has gone before its window
  --region.windows;
  return write_count(region, now);
}

CommandProcessor::Next CommandProcessor::count_window(Cycle now) {
  if (region_entry_.key == 0 || entry_.bound_to == region_entry_.key) return Next::kGoesOn;
  ++region_entry_.windows;
  return write_count(region_entry_, now);
}

}  // namespace rxnic
