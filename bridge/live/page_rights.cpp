// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/page_rights.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace rxnic {

namespace {

// PROCMAP_QUERY of <linux/fs.h>, which older headers do not have.
struct MapQuery {
  std::uint64_t size = sizeof(MapQuery);
  std::uint64_t query_flags = 0;  // 0: the range that holds query_addr
  std::uint64_t query_addr = 0;
  std::uint64_t begin = 0, end = 0, flags = 0;  // of the range
  std::uint64_t page_size = 0, file_offset = 0, inode = 0;
  std::uint32_t device_major = 0, device_minor = 0, name_size = 0, build_id_size = 0;
  std::uint64_t name_address = 0, build_id_address = 0;
};
static_assert(sizeof(MapQuery) == 104);
constexpr std::uint64_t kReadable = 1, kWritable = 2;
const unsigned long kQuery = _IOWR('f', 17, MapQuery);

// A line of /proc/PID/maps: "begin-end perms ..." in hexadecimal.
struct Range {
  std::uint64_t begin = 0, end = 0;
  bool readable = false, writable = false;
};
bool parse_range(const char* line, const char* line_end, Range& range) {
  const auto begin = std::from_chars(line, line_end, range.begin, 16);
  if (begin.ec != std::errc{} || begin.ptr == line_end || *begin.ptr != '-') return false;
  const auto end = std::from_chars(begin.ptr + 1, line_end, range.end, 16);
  if (end.ec != std::errc{} || line_end - end.ptr < 5) return false;
  range.readable = end.ptr[1] == 'r';
  range.writable = end.ptr[2] == 'w';
  return true;
}

}  // namespace

PageRights::Answer PageRights::ask(int maps, std::uint64_t address, std::uint64_t bytes, bool write) {
  const std::uint64_t end = address + bytes;
  if (end < address) return Answer::kNo;
  if (queries_) {
    const Answer answer = query(maps, address, end, write);
    if (queries_) return answer;
  }
  return read_text(maps, address, end, write);
}

PageRights::Answer PageRights::query(int maps, std::uint64_t address, std::uint64_t end, bool write) {
  while (address < end) {
    MapQuery q;
    q.query_addr = address;
    if (ioctl(maps, kQuery, &q) != 0) {
      if (errno == EINTR) continue;
      if (errno == ENOTTY) queries_ = false;  // the kernel does not know the request
      return errno == ESRCH ? Answer::kGone : Answer::kNo;
    }
    if ((q.flags & (write ? kWritable : kReadable)) == 0 || q.end <= address) return Answer::kNo;
    address = q.end;
  }
  return Answer::kYes;
}

PageRights::Answer PageRights::read_text(int maps, std::uint64_t address, std::uint64_t end, bool write) {
  // Ranges come in ascending order; `address` moves on as they cover it.
  if (lseek(maps, 0, SEEK_SET) != 0) return Answer::kNo;
  char buffer[16384];
  std::size_t kept = 0;
  for (bool any = false; address < end; any = true) {
    const ssize_t got = ::read(maps, buffer + kept, sizeof buffer - kept);
    if (got <= 0) return any ? Answer::kNo : Answer::kGone;
    const char* line = buffer;
    const char* const filled = buffer + kept + got;
    for (const char* next; address < end && (next = std::find(line, filled, '\n')) != filled; line = next + 1) {
      Range range;
      if (!parse_range(line, next, range)) return Answer::kNo;
      if (range.end <= address) continue;
      if (range.begin > address || !(write ? range.writable : range.readable)) return Answer::kNo;
      address = range.end;
    }
    kept = static_cast<std::size_t>(filled - line);
    if (kept == sizeof buffer) return Answer::kNo;  // no line is so long
    std::memmove(buffer, line, kept);
  }
  return Answer::kYes;
}

}  // namespace rxnic
