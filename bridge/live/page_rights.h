// SPDX-License-Identifier: Apache-2.0
// Which rights a program has to pages of its own memory: what is written through /proc/PID/mem does not heed them.
//
//   R1  Asked for each access, because the program may change them at any time. From Linux 6.11 on the question is a
//       request to /proc/PID/maps for the range of an address. Before 6.11 the text of that file is read up to there.
//   R2  The descriptor stays that of the memory that its process had when it was opened. After an exec or the end of
//       the process it has no memory, whoever has the process's number then.
#pragma once

#include <cstdint>

namespace rxnic {

class PageRights {
 public:
  enum class Answer : std::uint8_t { kYes, kNo, kGone };  // kGone: the memory does not exist any more
  // `queries` false: as before Linux 6.11.
  explicit PageRights(bool queries) : queries_(queries) {}
  // `maps`: of /proc/PID/maps. May all these bytes be read, or written?
  Answer ask(int maps, std::uint64_t address, std::uint64_t bytes, bool write);
  // Not known before the first ask().
  bool queries() const { return queries_; }

  // The range that holds an address, with the device of its file (0: no file). end 0: there is none.
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t major = 0, minor = 0;
    bool writable = false;
    bool has_file() const { return major != 0 || minor != 0; }
  };
  static Range range_at(int maps, std::uint64_t address);

 private:
  Answer query(int maps, std::uint64_t address, std::uint64_t end, bool write);
  static Answer read_text(int maps, std::uint64_t address, std::uint64_t end, bool write);

  bool queries_;
};

}  // namespace rxnic
