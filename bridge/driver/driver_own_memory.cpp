// SPDX-License-Identifier: Apache-2.0
// Memory of the device itself, which programs allocate, register and copy to and from (ibv_alloc_dm(3)).
#include <algorithm>
#include <cerrno>

#include "bridge/driver/driver.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kUnit = 64;  // allocations begin at multiples of it
constexpr std::uint32_t kUnitShift = 6;
constexpr std::uint64_t kCopyUnit = 4;       // offsets and lengths of copies are multiples of it
constexpr std::uint64_t kMostAtOnce = 4096;  // bytes a command: other programs' commands wait for no more

constexpr std::uint64_t in_units(std::uint64_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

bool is_inside(const DeviceMemoryObject& memory, std::uint64_t offset, std::uint64_t length) {
  return offset <= memory.length && length <= memory.length - offset;
}

}  // namespace

CommandResult Driver::allocate_device_memory(ClientId client, Command& c) {
  channel::DeviceMemory& m = c.message.body.device_memory;
  const bool too_long = m.length > attributes_.device_memory_bytes;
  if (m.length == 0 || too_long || m.log_alignment > kUnitShift) return refuse(c, EINVAL);
  const auto number = device_memory_numbers_.take(device_memories_.size(),
                                                  [this](std::uint32_t n) { return device_memories_.contains(n); });
  const auto offset = number ? device_memory_.take(in_units(m.length)) : std::nullopt;
  if (!offset) return refuse(c, ENOMEM);
  device_memories_[*number] = {client, *offset, m.length};
  m.number = *number;
  return CommandResult::kDone;
}

CommandResult Driver::free_device_memory(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  const DeviceMemoryObject* memory = shared(device_memories_, client, number);
  if (memory == nullptr) return refuse(c, EINVAL);
  if (memory->users != 0) return refuse(c, EBUSY);
  give_back(*memory);
  device_memories_.erase(number);
  return CommandResult::kDone;
}

void Driver::give_back(const DeviceMemoryObject& memory) {
  device_memory_.give_back(memory.offset, in_units(memory.length));
}

// The message says what is left to be copied.
CommandResult Driver::copy_device_memory(ClientId client, Command& c, bool to_device) {
  channel::DeviceMemory& m = c.message.body.device_memory;
  const DeviceMemoryObject* memory = shared(device_memories_, client, m.number);
  if (memory == nullptr) return refuse(c, EINVAL);
  if (!c.begun) {
    if (!is_inside(*memory, m.offset, m.length)) return refuse(c, EFAULT);
    if (m.offset % kCopyUnit != 0 || m.length % kCopyUnit != 0) return refuse(c, EINVAL);
    const bool wraps = m.address >= ProgramMemory::kShared || m.length > ProgramMemory::kShared - m.address;
    if (m.length > 0 && (m.address == 0 || wraps)) return refuse(c, EFAULT);
    c.begun = true;
  }
  CommandReply reply;
  if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
  if (reply.status != CommandStatus::kDone) return refuse(c, EFAULT);
  if (m.length == 0) return CommandResult::kDone;
  const auto at = static_cast<std::uint32_t>(memory->offset + m.offset);
  const auto bytes = static_cast<std::uint32_t>(std::min(m.length, kMostAtOnce));
  const BusAddress program = program_address(client, m.address);
  c.ticket = to_device ? commands_.copy_to_device(program, at, bytes) : commands_.copy_from_device(at, program, bytes);
  m.offset += bytes;
  m.address += bytes;
  m.length -= bytes;
  return CommandResult::kGiven;
}

std::int32_t Driver::check_device_region(ClientId client, const channel::Memory& m) const {
  const DeviceMemoryObject* memory = shared(device_memories_, client, m.device_memory);
  if (memory == nullptr || !is_inside(*memory, m.address, m.length)) return EINVAL;
  return (m.access & kAccessZeroBased) != 0 && m.iova == 0 ? 0 : EINVAL;
}

}  // namespace rxnic
