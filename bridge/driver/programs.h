// SPDX-License-Identifier: Apache-2.0
// The interface to the programs: the sockets and mappings of live ones (bridge/live), or the log of a recorded run
// (bridge/rxnic/record). Everything behind it is the same for both.
//
//   R1  What a program does is a sequence of ProgramEvents. With the data that DMA reads from its memory they determine
//       everything that the model does.
//   R2  A client is one opened device of one program. Its number is given to another one only after released().
//   R3  A client whose request cannot be carried out because something went wrong in the simulator ends (failed()), and
//       nobody else does. When not even its objects can be freed its number is never used again.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bridge/channel/protocol.h"
#include "model/types/ids.h"

namespace rxnic {

enum class ClientId : std::uint16_t {};  // 1 .. 0x3fff

struct ProgramEvent {
  enum class Kind : std::uint8_t { kOpen, kRequest, kDoorbell, kClose } kind = Kind::kOpen;
  ClientId client{};
  // kOpen
  std::uint32_t nic = 0;
  std::uint32_t pid = 0;
  std::string program;  // name
  // kRequest: anything but kHello and kOpen. kCreateChannel carries the channel's number, given by Programs.
  channel::Message message;
  // kDoorbell
  channel::Board board{};
  std::uint32_t index = 0;  // of the record, < kDoorbells
  std::uint64_t value = 0;
};

class Programs {
 public:
  virtual ~Programs() = default;
  // The next event that is there in cycle `now`; false: none. Never waits.
  virtual bool take(Cycle now, ProgramEvent& event) = 0;
  // kOpen: the client may go on, with these attributes (a reply to its kOpen request); status != 0: refused.
  virtual void opened(ClientId client, std::int32_t status, const channel::DeviceAttributes& attributes) = 0;
  virtual void reply(ClientId client, const channel::Message& message) = 0;
  // `count` further CQEs of this client's CQ are visible.
  virtual void completed(ClientId client, Cqn cq, std::uint32_t count) = 0;
  // channel 0: the asynchronous events.
  virtual void notify(ClientId client, std::uint32_t channel, const channel::EventRecord& event) = 0;
  // The request that it waits for has no reply: its kClose follows. It may have come already. (R3)
  virtual void failed(ClientId /*client*/, const std::string& /*why*/) {}
  // `frees` is a request that frees object `number`, which is no longer the client's. Its events that the program has
  // not read are gone before the reply to the request (channel::freed_by).
  virtual void discard_events(ClientId /*client*/, channel::Request /*frees*/, std::uint32_t /*number*/) {}
  // After kClose: the device holds nothing of this client any more, neither objects nor addresses of its memory.
  virtual void released(ClientId client) = 0;
  // Nothing will happen in the model before cycle `due` (kNever: ever) unless a program asks for something. Returns the
  // cycle to go on in, between now and due; kNever: no program is left, the run is over.
  virtual Cycle wait(Cycle now, Cycle due) = 0;
  // The next cycle in which to look for events while the model is busy; kNever: the run is over at once.
  virtual Cycle next_look(Cycle now) = 0;
  // May ask to look earlier than `look`, because a program that was just notified may react. Never for a past
  // cycle.
  virtual Cycle sooner(Cycle look) { return look; }
};

// The memory of the programs. `address`: a virtual address below 2^47, or kShared | offset in the mapping.
class ProgramMemory {
 public:
  static constexpr std::uint64_t kShared = std::uint64_t{1} << 47;
  virtual ~ProgramMemory() = default;
  // All or nothing; false: some byte is not mapped, or not writable (page protection counts).
  virtual bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) = 0;
  virtual bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) = 0;
  struct Read {
    ClientId client{};
    std::uint64_t address = 0;
    std::span<std::uint8_t> to;
    bool* ok = nullptr;  // the result
  };
  // Several reads in order, each by itself all or nothing.
  virtual void read_all(std::span<const Read> reads) {
    for (const Read& r : reads) *r.ok = read(r.client, r.address, r.to);
  }
  // False: the program has ended, and its memory with it.
  virtual bool exists(ClientId /*client*/) { return true; }
};

// The bus address of a program's memory: client in bits 48..61, address below. (icm:: is above.)
constexpr BusAddress program_address(ClientId client, std::uint64_t address) {
  return BusAddress{std::uint64_t{static_cast<std::uint16_t>(client)} << 48 |
                    (address & ((std::uint64_t{1} << 48) - 1))};
}

}  // namespace rxnic
