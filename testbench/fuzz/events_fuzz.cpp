// SPDX-License-Identifier: Apache-2.0
// Any chunks as the events of a run: what rxnic explain says of them, or an std::invalid_argument that names the file.
// The input is, for each chunk, its kind, its rows and its bytes (1, 4 and 4 bytes), and what the file compresses.
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "bridge/rxnic/explain/explain.h"
#include "bridge/rxnic/explain/tables.h"

namespace {

std::uint32_t number_at(const std::uint8_t* data) {
  std::uint32_t n = 0;
  std::memcpy(&n, data, sizeof n);
  return n;
}

// The file of these chunks.
std::string file_of(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHeader = 9;
  std::string file(rxnic::kEventMagic);
  while (size >= kHeader) {
    const std::size_t bytes = std::min<std::size_t>(number_at(data + 5), size - kHeader);
    std::string packed(ZSTD_compressBound(bytes), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), data + kHeader, bytes, 1));
    file.append(reinterpret_cast<const char*>(data), 5);
    for (const std::size_t n : {bytes, packed.size()}) {
      const auto word = static_cast<std::uint32_t>(n);
      file.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    file += packed;
    data += kHeader + bytes;
    size -= kHeader + bytes;
  }
  return file;
}

// The path of a file without a name, which is written anew for each input.
std::string path_of(const std::string& bytes) {
  static std::FILE* const file = std::tmpfile();
  if (file == nullptr || ftruncate(fileno(file), 0) != 0) std::abort();
  std::rewind(file);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fflush(file) != 0) std::abort();
  return "/proc/self/fd/" + std::to_string(fileno(file));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rxnic;
  const std::string path = path_of(file_of(data, size));
  try {
    RunEvents events(path);
    PacketQuery query;
    query.most = 20;
    std::uint64_t found = 0;
    for (const PacketLife& life : lives_of(events, query, found)) {
      std::uint64_t at = life.row.arrived;
      for (const StationStay& stay : life.stays) {
        if (stay.from != at) std::abort();
        at += stay.wait + stay.block;
      }
      if (!life.stays.empty() && at != life.row.left) std::abort();
      if (explain_text(events, life).empty() || explain_json(events, life).empty()) std::abort();
    }
    slowest(events, query, 5);
    for (const TableBy by : {TableBy::kQp, TableBy::kSize, TableBy::kOpcode, TableBy::kNic}) {
      if (table_text(table_by(events, by), by, 5).empty()) std::abort();
    }
    for (const QpLife& life : qps_of(events, 0x11, {})) {
      if (explain_text(events, life).empty() || explain_json(events, life).empty()) std::abort();
    }
  } catch (const std::invalid_argument& e) {
    if (std::string(e.what()).rfind(path + ": ", 0) != 0) std::abort();
  }
  return 0;
}
