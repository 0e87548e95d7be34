// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/address_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace rxnic::verbs {

namespace {

// Lines of /proc/self/maps or smaps, without stdio. Mappings come in ascending order.
class Maps {
 public:
  explicit Maps(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC)), own_(true) {}
  explicit Maps(int descriptor) : file_(descriptor), own_(false) {}
  ~Maps() {
    if (own_ && file_ >= 0) close(file_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;
  bool readable() const { return file_ >= 0; }

  struct Mapping {
    std::uint64_t begin = 0, end = 0;
    bool read = false, write = false;
    bool of_file = false;  // it has a path, as all that hugetlbfs maps ("/anon_hugepage", "/SYSV...")
  };
  // "begin-end rwxp offset device inode path".
  bool next(Mapping& m) {
    if (!hexadecimal(m.begin, '-') || !hexadecimal(m.end, ' ')) return false;
    int c = get();
    m.read = c == 'r';
    m.write = get() == 'w';
    for (int fields = 0; fields < 4 && c >= 0 && c != '\n'; c = get()) fields += c == ' ';
    while (c == ' ') c = get();
    m.of_file = c == '/';
    return skip_line(c);
  }
  // smaps: the lines "Name:   value kB" of the mapping up to the next one. 0: it has none of that name.
  std::uint64_t value_of(const char* name) {
    std::uint64_t value = 0;
    for (int c; (c = peek()) >= 'A' && c <= 'Z';) {
      const char* left = name;
      while (*left != '\0' && (c = get()) == *left) ++left;
      if (*left == '\0') {
        do c = get();
        while (c == ' ');
        for (; c >= '0' && c <= '9'; c = get()) value = value * 10 + static_cast<std::uint64_t>(c - '0');
      }
      skip_line(c);
    }
    return value;
  }

 private:
  int peek() {
    if (at_ == filled_) {
      ssize_t n;
      do n = ::read(file_, buffer_, sizeof buffer_);
      while (n < 0 && errno == EINTR);
      if (n <= 0) return -1;
      at_ = 0;
      filled_ = n;
    }
    return static_cast<unsigned char>(buffer_[at_]);
  }
  int get() {
    const int c = peek();
    if (c >= 0) ++at_;
    return c;
  }
  // `c`: the last character read.
  bool skip_line(int c) {
    while (c >= 0 && c != '\n') c = get();
    return true;
  }
  bool hexadecimal(std::uint64_t& value, char last) {
    value = 0;
    for (int c = get(); c != last; c = get()) {
      const char* digits = "0123456789abcdef";
      const char* digit = c > 0 ? std::strchr(digits, c) : nullptr;
      if (digit == nullptr) return false;
      value = value << 4 | static_cast<std::uint64_t>(digit - digits);
    }
    return true;
  }

  int file_;
  bool own_;
  char buffer_[4096];
  ssize_t at_ = 0, filled_ = 0;
};

unsigned shift_of(std::uint64_t bytes) { return static_cast<unsigned>(std::countr_zero(bytes)); }

// Whether a mapping of a file holds any of the range.
bool meets_file(std::uint64_t begin, std::uint64_t end) {
  Maps maps("/proc/self/maps");
  for (Maps::Mapping m; maps.readable() && maps.next(m) && m.begin < end;) {
    if (m.end > begin && m.of_file) return true;
  }
  return false;
}

}  // namespace

bool is_mapped(std::uint64_t begin, std::uint64_t bytes, bool write) {
  if (bytes == 0) return true;
  Maps maps("/proc/self/maps");
  if (!maps.readable()) return true;
  const std::uint64_t end = begin + bytes;
  Maps::Mapping m;
  for (std::uint64_t at = begin; maps.next(m);) {
    if (m.end <= at) continue;
    if (m.begin > at || !m.read || (write && !m.write)) return false;
    if (m.end >= end) return true;
    at = m.end;
  }
  return false;
}

unsigned page_shift_in(int descriptor, std::uint64_t begin, std::uint64_t bytes, unsigned ordinary) {
  Maps maps(descriptor);
  unsigned least = 0;
  for (Maps::Mapping m; maps.next(m) && m.begin < begin + bytes;) {
    const std::uint64_t size = maps.value_of("KernelPageSize:") << 10;
    if (m.end <= begin) continue;
    const unsigned shift = std::has_single_bit(size) ? shift_of(size) : ordinary;
    if (least == 0 || shift < least) least = shift;
  }
  return least == 0 ? ordinary : least;
}

unsigned page_shift(std::uint64_t begin, std::uint64_t bytes) {
  const unsigned ordinary = shift_of(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  if (bytes == 0 || !meets_file(begin, begin + bytes)) return ordinary;
  const int smaps = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (smaps < 0) return ordinary;
  const unsigned shift = page_shift_in(smaps, begin, bytes, ordinary);
  close(smaps);
  return shift;
}

}  // namespace rxnic::verbs
