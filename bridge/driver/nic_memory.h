// SPDX-License-Identifier: Apache-2.0
// The host memory that one NIC's DMA reaches: the device's own tables (model/types/context.h, icm), and the memory of
// the programs.
//
//   R1  A bus address with one of bits 62 and 63 set is one of the device's tables: memory of its own, always there.
//   R2  Any other belongs to the client in its bits 48..61. A range never reaches from one client to the next.
//   R3  The observer is notified of each read and write of programs' memory, in order, and of those that failed; each
//       range separately.
//   R4  The memory of a program that has ended is lost before its QPs are freed. Writes to it succeed without effect,
//       as into pages that are still pinned. Reads of it fail, and it is gone().
//   R5  Late reads of programs' memory, except their mappings, are carried out together, in order. This happens when
//       they are to be settled, before a write to one of their ranges, and when there are kMostLate.
#pragma once

#include <vector>

#include "bridge/driver/program_observer.h"
#include "bridge/driver/programs.h"
#include "model/engine/engine.h"
#include "model/types/host_memory.h"

namespace rxnic {

class NicMemory final : public HostMemory {
 public:
  static constexpr std::size_t kMostLate = 64;
  NicMemory(const Engine& engine, ProgramMemory& programs, ProgramObserver* observer)
      : engine_(engine), programs_(programs), observer_(observer) {}
  bool read(BusAddress from, std::span<std::uint8_t> to) override;
  bool write(BusAddress to, std::span<const std::uint8_t> from) override;
  void read_later(BusAddress from, std::span<std::uint8_t> to, bool& ok) override;
  void settle() override;
  bool gone(BusAddress from) const override;
  std::uint64_t tables_digest() const { return tables_.digest(); }
  std::size_t tables_bytes() const { return tables_.resident_bytes(); }

 private:
  void finish_read(ClientId client, std::uint64_t address, std::span<const std::uint8_t> data, bool ok);
  void set_gone(ClientId client, bool gone);
  bool is_read_late(ClientId client, std::uint64_t address, std::size_t bytes) const;

  const Engine& engine_;
  ProgramMemory& programs_;
  ProgramObserver* observer_;
  LocalMemory tables_;
  std::vector<ProgramMemory::Read> late_;  // (R5)
  std::vector<bool> gone_;                 // by client, as its last access that failed found it (R4)
};

}  // namespace rxnic
