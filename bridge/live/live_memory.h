// SPDX-License-Identifier: Apache-2.0
// The memory of live programs: the shared mapping directly, everything else through the descriptor of its own memory
// that a program passes (/proc/self/mem; live_client.h R5).
//
//   R1  In the mapping every access is checked against its size. A write stores the last byte of each 64-byte unit
//       after the rest of the unit, and the units from the last to the first. So a program that sees the owner byte of
//       a CQE changed sees the whole CQE. It also sees the whole compressed block behind the CQE (completion.h R2, R4).
//   R2  An access reaches no other memory than that of the program that has opened the device. It reaches neither the
//       image that the program executes later, nor a process that gets the program's number. The descriptor has none
//       after the end of the memory that it was opened for. It does not heed page protection: the rights are asked for
//       before each access (page_rights.h), and without an answer a write is refused.
//   R3  False: some byte could not be copied. After a read the destination is undefined then. After a write the bytes
//       before the first page that could not be written may have been written, and none behind it.
//   R4  A program that is dead, or whose kClose was taken, does not exist and has no memory but the mapping. The
//       mapping lasts until it is released: messages that arrive until the program's QPs are gone find the WQEs that it
//       has posted.
//   R5  An access to a page that the program itself has to supply waits for the program (FUSE; userfaultfd by R6). When
//       it waits for long the program is killed. A file system in user space that another process serves is aborted,
//       where that can be done (access_watch.h R5). By the descriptor the kernel does not wait for userfaultfd: the
//       access fails.
//   R6  Reads of one program that follow each other in read_all() are one process_vm_readv, up to kMostAtOnce of them.
//       A read alone takes three times as long as its share of that. The call finds the process by its number. So the
//       bytes of the same call include those by which the library has made this memory known (channel::Open). When they
//       differ nothing of it is used. Reads that it did not carry out are tried again one by one.
//   R7  The cost is compared with process_vm_* without proof, which was 1.2 us for up to 4 KiB and 5 us for 64 KiB
//       (Linux 6.18). A read or write of up to 4 KiB costs as much, one of 64 KiB 1.7 times, 64 reads together 1.03
//       times. Before Linux 6.11 a write takes 25 times as long, in proportion to the number of the program's mappings.
//       A read alone, which is made by R6 then, takes 1.3 times as long.
//   R8  With `gather`, writes that follow each other are kept and carried out together, those of a program by one
//       process_vm_writev. They are kept until what the model has done is to be shown (live_programs.h R18), an access
//       overlaps them, or KeptWrites is full. What was written to mappings meanwhile is carried out behind them, in
//       order: a program that sees a CQE sees its payload. A write that comes more than kNear looks after the one
//       before is carried out at once. So a message that comes alone is not seen later than without.
//   R9  A write is kept only when it is known to succeed. Its bytes are in one range of memory without a file, in which
//       the program may write. The kernel is asked for that range once between two shows. All others are carried out at
//       once, and their failures are known at once. A program may take such a range away before the next show. What is
//       kept for it goes nowhere then (`lost`), as into pages that are pinned and not mapped any more. A page of
//       userfaultfd in it is waited for as in R6.
//   R10 process_vm_writev finds the process by its number, as in R6. First it writes the bytes by which the library has
//       made this memory known, to their place, which is at random (verbs/identity.h R2). Another memory has no page
//       there: then the kernel writes nothing, and the writes are carried out one by one. So are those that the call
//       did not carry out. It heeds page protection.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bridge/driver/programs.h"
#include "bridge/live/access_watch.h"
#include "bridge/live/kept_writes.h"
#include "bridge/live/live_client.h"
#include "bridge/live/live_programs.h"
#include "bridge/live/page_rights.h"

namespace rxnic {

struct LiveMemoryOptions {
  bool process_vm = true;   // false: as where it is not permitted (Yama, another container)
  bool map_queries = true;  // false: as before Linux 6.11 (page_rights.h)
  bool gather = false;      // R8
  AccessWatchOptions watch{};
};

struct TransferCounters {
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
};
struct LiveMemoryCounters {
  TransferCounters shared_reads, shared_writes;          // the mapping
  TransferCounters descriptor_reads, descriptor_writes;  // R2
  TransferCounters process_reads;                        // R6
  TransferCounters process_writes;                       // R8
  std::uint64_t together = 0;                            // of process_reads: those that shared a system call
  std::uint64_t write_calls = 0;                         // system calls of process_writes
  std::uint64_t lost = 0;                                // R9
  std::uint64_t failures = 0;                            // calls that returned false
};

class LiveMemory final : public ProgramMemory, private ShownLater {
 public:
  static constexpr std::size_t kMostAtOnce = 64;            // reads
  static constexpr std::uint64_t kNear = 4, kLongest = 16;  // looks (R8)
  explicit LiveMemory(LivePrograms& programs, const LiveMemoryOptions& options = {});
  LiveMemory(const LiveMemory&) = delete;
  ~LiveMemory() override;
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override;
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override;
  void read_all(std::span<const Read> reads) override;
  bool exists(ClientId client) override;
  const LiveMemoryCounters& counters() const { return counters_; }

 private:
  // By client.
  struct Way {
    std::uint64_t serial = 0;  // of the client
    bool process_vm = false;   // R6
    bool gone = false;         // there is no such memory any more
  };
  bool waits() const override { return !kept_.empty() || !kept_shared_.empty(); }
  bool is_due(std::uint64_t look) const override;
  void show(bool idle) override;
  bool keep(const LiveClient& client, std::uint64_t address, std::span<const std::uint8_t> from);
  bool keep_shared(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from);
  bool may_keep(const LiveClient& client, std::uint64_t address, std::size_t bytes);
  void show_before(ClientId client, std::uint64_t address, std::size_t bytes);
  void write_kept(const LiveClient& client, std::span<const KeptWrites::Write> writes);
  std::size_t write_at_once(const LiveClient& client, std::span<const KeptWrites::Write> writes);
  Way& way(const LiveClient& client);
  std::size_t read_at_once(std::span<const Read> reads);
  void report_cost(const LiveClient& client, const AccessWatch::Cost& cost) const;
  bool move(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes, bool write);
  static void count(TransferCounters& counters, std::uint64_t bytes) {
    ++counters.transfers;
    counters.bytes += bytes;
  }
  static void write_shared(const LiveMapping& mapping, std::uint64_t address, std::span<const std::uint8_t> from);
  bool permitted(Way& w, const LiveClient& client, std::uint64_t address, std::uint64_t bytes, bool write);
  bool move_unwatched(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes,
                      bool write);

  LivePrograms& programs_;
  LiveMemoryOptions options_;
  PageRights rights_;
  AccessWatch watch_;
  LiveMemoryCounters counters_;
  std::vector<Way> ways_;
  KeptWrites kept_, kept_shared_;                 // to memory; to mappings
  std::uint64_t first_look_ = 0;                  // in which the first of those that are kept came
  std::uint64_t last_look_ = 0;                   // in which the last write came
  bool near_ = false;                             // there was one, and the model has not waited since
  std::vector<KeptWrites::Write> of_one_client_;  // for show()
};

}  // namespace rxnic
