// SPDX-License-Identifier: Apache-2.0
// The memory of live programs: the shared mapping directly, everything else by process_vm_readv and process_vm_writev.
//
//   R1  In the mapping every access is checked against its size. A write stores the last byte of each 64-byte unit
//       after the rest of it, and the units from the last to the first: a program that sees the owner byte of a CQE
//       changed sees the whole CQE, and the whole compressed block behind it (completion.h R2, R4).
//   R2  Where process_vm_* is not permitted (Yama, another container) the descriptor of its own memory that the program
//       passed is used; that is kept for the client's life. Such an access does not respect page protection by itself:
//       /proc/PID/maps is read before each one, and without it a write is refused.
//   R3  False: some byte could not be copied. After a read the destination is undefined then; after a write the bytes
//       before the first page that could not be written may have been written, and none behind it.
//   R4  A program that is dead, or whose kClose was taken, does not exist and has no memory but the mapping, which
//       lasts until it is released: messages that arrive until its QPs are gone find the WQEs that it has posted.
//   R5  An access to a page that the program itself has to supply (userfaultfd, FUSE) waits for the program, but not
//       long: the program is killed (access_watch.h).
//   R6  Reads of one program that follow each other in read_all() are one system call, up to kMostAtOnce of them: alone
//       it takes three times as long as its share. Those that it did not carry out are tried again one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bridge/channel/socket.h"
#include "bridge/device/host_port.h"
#include "bridge/live/access_watch.h"
#include "bridge/live/live_client.h"

namespace rxnic {

class LivePort;

struct LiveMemoryOptions {
  bool process_vm = true;  // false: the descriptor of R2 from the beginning
  AccessWatchOptions watch{};
};

struct TransferCounters {
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
};
struct LiveMemoryCounters {
  TransferCounters shared_reads, shared_writes;          // the mapping
  TransferCounters process_reads, process_writes;        // process_vm_*
  TransferCounters descriptor_reads, descriptor_writes;  // R2
  std::uint64_t together = 0;                            // of process_reads: those that shared a system call (R6)
  std::uint64_t failures = 0;                            // calls that returned false
};

class LiveMemory final : public ProgramMemory {
 public:
  static constexpr std::size_t kMostAtOnce = 64;
  explicit LiveMemory(const LivePort& port, const LiveMemoryOptions& options = {})
      : port_(port), options_(options), watch_(options.watch) {}
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override;
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override;
  void read_all(std::span<const Read> reads) override;
  bool exists(ClientId client) override;
  const LiveMemoryCounters& counters() const { return counters_; }

 private:
  // By client.
  struct Way {
    std::uint64_t serial = 0;  // of the client
    bool by_descriptor = false;
    bool maps_tried = false;
    bool gone = false;         // the kernel knows no such process any more
    channel::Descriptor maps;  // /proc/PID/maps
  };
  Way& way(const LiveClient& client);
  bool permitted(Way& w, const LiveClient& client, std::uint64_t address, std::uint64_t bytes, bool write);
  std::size_t read_at_once(std::span<const Read> reads);
  void report_killed(const LiveClient& client) const;
  bool move(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes, bool write);
  bool move_unwatched(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes,
                      bool write);

  const LivePort& port_;
  LiveMemoryOptions options_;
  AccessWatch watch_;
  LiveMemoryCounters counters_;
  std::vector<Way> ways_;
};

}  // namespace rxnic
