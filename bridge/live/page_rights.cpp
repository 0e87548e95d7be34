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

// A line of /proc/PID/maps: "begin-end perms offset major:minor ..." in hexadecimal.
struct Line {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t major = 0, minor = 0;
  bool readable = false, writable = false;
};
bool parse_line(const char* line, const char* line_end, Line& range) {
  const auto begin = std::from_chars(line, line_end, range.begin, 16);
  if (begin.ec != std::errc{} || begin.ptr == line_end || *begin.ptr != '-') return false;
  const auto end = std::from_chars(begin.ptr + 1, line_end, range.end, 16);
  if (end.ec != std::errc{} || line_end - end.ptr < 5) return false;
  range.readable = end.ptr[1] == 'r';
  range.writable = end.ptr[2] == 'w';
  const char* const device = std::find(std::min(end.ptr + 6, line_end), line_end, ' ');
  const auto major = std::from_chars(std::min(device + 1, line_end), line_end, range.major, 16);
  std::from_chars(std::min(major.ptr + 1, line_end), line_end, range.minor, 16);
  return true;
}

// Gives the ranges in ascending order until `take` returns false. False: there is none, the memory is gone.
template <class Take>
bool read_ranges(int maps, Take take) {
  if (lseek(maps, 0, SEEK_SET) != 0) return true;
  char buffer[16384];
  std::size_t kept = 0;
  for (bool any = false;; any = true) {
    const ssize_t got = ::read(maps, buffer + kept, sizeof buffer - kept);
    if (got <= 0) return any;
    const char* line = buffer;
    const char* const filled = buffer + kept + got;
    for (const char* next; (next = std::find(line, filled, '\n')) != filled; line = next + 1) {
      Line range;
      if (!parse_line(line, next, range) || !take(range)) return true;
    }
    kept = static_cast<std::size_t>(filled - line);
    if (kept == sizeof buffer) return true;  // no line is so long
    std::memmove(buffer, line, kept);
  }
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
  if (address >= end) return Answer::kYes;
  const bool any = read_ranges(maps, [&](const Line& range) {
    if (range.end <= address) return true;
    if (range.begin > address || !(write ? range.writable : range.readable)) return false;
    address = range.end;  // moves on as ranges cover it
    return address < end;
  });
  return address >= end ? Answer::kYes : any ? Answer::kNo : Answer::kGone;
}

PageRights::Range PageRights::range_at(int maps, std::uint64_t address) {
  MapQuery q;
  q.query_addr = address;
  int failed = 0;
  do failed = ioctl(maps, kQuery, &q) == 0 ? 0 : errno;
  while (failed == EINTR);
  Range found;
  if (failed == 0) {
    found = {q.begin, q.end, q.device_major, q.device_minor, (q.flags & kWritable) != 0};
  } else if (failed == ENOTTY) {
    read_ranges(maps, [&](const Line& range) {
      if (range.begin <= address && address < range.end)
        found = {range.begin, range.end, range.major, range.minor, range.writable};
      return range.end <= address;
    });
  }
  return found;
}

}  // namespace rxnic
