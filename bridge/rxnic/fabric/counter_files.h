// SPDX-License-Identifier: Apache-2.0
// The counters of the NICs' ports as files: `counters` and `hw_counters` below ports/1, shown by bridge/device_files.
// The README.md of bridge/device_files says what each file counts. The table in counter_files.cpp says from which
// counters.
//
//   R1  A file is 20 characters, the number in decimal and blanks behind it, and a line feed. Numbers that have changed
//       are written to it, and no descriptor is kept; what a program does with a file harms the file alone.
//   R2  All files have the numbers of the last tick (LiveOptions::tick_ms), and of the end of the run.
//   R3  Once a program has looked for one of the files, all files have the numbers at two more times. The first time is
//       before a NIC writes to the memory of a program (a completion, for example). The second is when the model has
//       nothing to do (live_programs.h R14). A mark that bridge/device_files makes in the file kMark says that a
//       program has looked. Until then it costs one load each time.
//   R4  The model does not see the files: a run with them has the report of one without.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "bridge/driver/programs.h"
#include "model/nic/fabric.h"
#include "model/nic/nic.h"

namespace rxnic {

// Bytes of all frames that have left each NIC's port; the frames go on to another observer.
class SentBytes final : public FabricObserver {
 public:
  SentBytes(std::uint32_t nics, FabricObserver* next) : bytes_(nics), next_(next) {}
  void on_frame(std::uint32_t from, std::uint32_t to, Bytes frame, std::uint64_t time_ps) override {
    bytes_[from] += frame.size();
    if (next_ != nullptr) next_->on_frame(from, to, frame, time_ps);
  }
  const std::uint64_t& of(std::uint32_t nic) const { return bytes_[nic]; }

 private:
  std::vector<std::uint64_t> bytes_;
  FabricObserver* next_;
};

struct UnmapFile {
  void operator()(std::uint64_t* words) const;
};
using MappedFile = std::unique_ptr<std::uint64_t, UnmapFile>;

// The files of one NIC's port.
class CounterFiles {
 public:
  // Makes them, with zeros, in `port`, the folder ports/1 of the NIC; it and `bytes_sent` by it outlive this. Throws
  // std::runtime_error; then none is left.
  CounterFiles(const std::filesystem::path& port, const Nic& nic, const std::uint64_t& bytes_sent);
  void publish();

 private:
  struct File {
    std::filesystem::path path;
    std::vector<const std::uint64_t*> counters;
    std::uint64_t unit = 1;
    std::uint64_t sum = 0;  // of the counters, when the text was written
  };
  std::vector<File> files_;
};

// The memory of the programs, and the files of all NICs. (R3)
class CountedMemory final : public ProgramMemory {
 public:
  static constexpr const char* kMark = "counters_read";  // not eight zero bytes: a program has looked
  explicit CountedMemory(ProgramMemory& programs) : programs_(programs) {}
  // `mark`: the file kMark, which this makes. Throws std::runtime_error.
  void watch(const std::filesystem::path& mark);
  void show(const std::filesystem::path& port, const Nic& nic, const std::uint64_t& bytes_sent) {
    files_.emplace_back(port, nic, bytes_sent);
  }
  void publish() {
    for (CounterFiles& files : files_) files.publish();
  }
  void publish_if_read() {  // (R3)
    if (mark_ && std::atomic_ref<std::uint64_t>(*mark_).load(std::memory_order_relaxed) != 0) publish();
  }
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override {
    return programs_.read(client, address, to);
  }
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override {
    publish_if_read();
    return programs_.write(client, address, from);
  }
  void read_all(std::span<const Read> reads) override { programs_.read_all(reads); }
  bool exists(ClientId client) override { return programs_.exists(client); }

 private:
  ProgramMemory& programs_;
  MappedFile mark_;
  std::vector<CounterFiles> files_;  // by NIC
};

}  // namespace rxnic
