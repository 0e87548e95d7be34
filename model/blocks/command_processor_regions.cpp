// SPDX-License-Identifier: Apache-2.0
// Commands on memory regions and device memory.
#include <algorithm>

#include "model/blocks/command_processor.h"

namespace rxnic {

CommandProcessor::Next CommandProcessor::read_region(Cycle now) {
  return read(command_.mailbox_address, sizeof(MptEntry), now);
}

// Nothing is to be invalidated: entries cached under its index were when the previous region was freed. (R8)
CommandProcessor::Next CommandProcessor::install_region(Cycle now) {
  return write(mpt_address(Key{mailbox<MptEntry>().key}), sizeof(MptEntry), now);
}

CommandProcessor::Next CommandProcessor::hide(Key key, Cycle now) {
  if (!send_queues.bound()) return Next::kGoesOn;
  SendQueueCommand c;
  c.operation = SendQueueOperation::kHide;
  c.key = key;
  return ask(send_queues, c, now);
}

CommandProcessor::Next CommandProcessor::hide_new_region(Cycle now) { return hide(Key{mailbox<MptEntry>().key}, now); }

CommandProcessor::Next CommandProcessor::read_entry(Cycle now) {
  return read(mpt_address(Key{command_.number}), sizeof(MptEntry), now);
}

CommandProcessor::Next CommandProcessor::end_if_bound(Cycle) {
  entry_ = mailbox<MptEntry>();
  region_entry_ = {};
  if (entry_.valid == 0 || (entry_.key ^ command_.number) >> 8 != 0) return end(CommandStatus::kNoObject);  // (R5)
  if (!is_window(entry_.kind) && entry_.key != command_.number) return end(CommandStatus::kNoObject);
  if (entry_.windows != 0 && command_.value == 0) return end(CommandStatus::kInUse);  // (R12)
  reply_.number = entry_.windows;
  return Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::hide_region(Cycle now) { return hide(Key{entry_.key}, now); }

CommandProcessor::Next CommandProcessor::clear_entry(Cycle now) {
  const MptEntry none;
  std::memcpy(buffer_.data(), &none, sizeof none);
  return write(mpt_address(Key{command_.number}), sizeof none, now);
}

CommandProcessor::Next CommandProcessor::invalidate(Cycle now) {
  RegionCommand c;
  c.key = Key{entry_.key};
  c.page_shift = entry_.page_shift;
  c.va = entry_.va;
  c.length = entry_.kind == MemoryKind::kNull ? 0 : entry_.length;  // it has no MTT entries
  c.mtt_base = BusAddress{entry_.mtt_base};
  c.levels = entry_.levels;
  return ask(regions, c, now);
}

// The packets that were translated before, and atomics, which touch memory after their packets have retired.
CommandProcessor::Next CommandProcessor::wait_for_users(Cycle now) {
  return ask(retirements, {region_.packets, Key{entry_.key}}, now);
}

CommandProcessor::Next CommandProcessor::wait_for_gathers(Cycle now) {
  DmaFence f;
  f.gathers = region_.gathers;
  return ask(fences, f, now);
}

// And the requester's reads, of packets whose payload was located before; it reads the table's entry again.
CommandProcessor::Next CommandProcessor::settle_payload(Cycle now) {
  return ask_send_queue(SendQueueOperation::kSettle, now);
}

// As much as the buffer holds at a time.
CommandProcessor::Next CommandProcessor::copy(BusAddress from, BusAddress to, Cycle now) {
  if (in_buffer_ > 0) {
    write(to + listed_, in_buffer_, now);
    listed_ += in_buffer_;
    in_buffer_ = 0;
    return Next::kRepeats;
  }
  in_buffer_ = std::min(command_.number - listed_, static_cast<std::uint32_t>(buffer_.size()));
  if (in_buffer_ == 0) return Next::kGoesOn;
  read(from + listed_, in_buffer_, now);
  return Next::kRepeats;
}

CommandProcessor::Next CommandProcessor::copy_to_device(Cycle now) {
  return copy(command_.mailbox_address, icm::kDeviceMemory + command_.value, now);
}

CommandProcessor::Next CommandProcessor::copy_from_device(Cycle now) {
  return copy(icm::kDeviceMemory + command_.value, command_.mailbox_address, now);
}

}  // namespace rxnic
