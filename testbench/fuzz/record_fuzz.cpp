// SPDX-License-Identifier: Apache-2.0
// A whole recorded run: the input is the length of host.jsonl in four bytes, the log, and wire.pcap. It is repeated to
// its end or to its first difference, or refused as a TraceError.
//
// A log may say that it ends in any cycle, and timers of the model that are due before then are carried out. So an
// input is left out when it goes on for longer than kMostCycles. An input is also left out when it asks for more than
// the NICs of the seeds.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "bridge/rxnic/record/recorded_run.h"
#include "traces/trace_error.h"

namespace {

using namespace rxnic;

constexpr std::uint64_t kMostCycles = 1'000'000;
constexpr std::uint32_t kMostNics = 2;

const std::string& folder() {
  static const std::string made = [] {
    const auto path = std::filesystem::temp_directory_path() / ("rxnic-record_fuzz." + std::to_string(getpid()));
    std::filesystem::create_directories(path);
    static const std::string name = path;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(name, ignored);
    });
    return name;
  }();
  return made;
}

void write(const std::string& path, const std::uint8_t* data, std::size_t size) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(data, 1, size, file) != size || std::fclose(file) != 0) std::abort();
}

bool is_short(const std::string& log) {
  HostLogReader reader(log);
  if (reader.header().nics > kMostNics) return false;
  HostLogEntry entry;
  do {
    reader.next(entry, kHostLogEvents);
  } while (entry.kind != HostLogEntry::Kind::kEnd);
  return entry.cycle <= kMostCycles;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint32_t length = 0;
  if (size < sizeof length) return 0;
  std::memcpy(&length, data, sizeof length);
  data += sizeof length;
  size -= sizeof length;
  const std::size_t log_bytes = std::min<std::size_t>(length, size);
  write(host_log_file(folder()), data, log_bytes);
  write(wire_file(folder()), data + log_bytes, size - log_bytes);
  try {
    if (is_short(host_log_file(folder()))) replay_recorded_run(folder(), {});
  } catch (const TraceError&) {
    // named: all is well
  }
  return 0;
}
