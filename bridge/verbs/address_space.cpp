// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/address_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rxnic::verbs {

namespace {

// Lines of /proc/self/maps, without stdio: a line is "begin-end rwxp ...", ascending.
class Maps {
 public:
  Maps() : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~Maps() {
    if (file_ >= 0) close(file_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;
  bool readable() const { return file_ >= 0; }

  bool next(std::uint64_t& begin, std::uint64_t& end, bool& read, bool& write) {
    if (!hexadecimal(begin, '-') || !hexadecimal(end, ' ')) return false;
    int c = get();
    read = c == 'r';
    write = get() == 'w';
    do c = get();
    while (c >= 0 && c != '\n');
    return true;
  }

 private:
  int get() {
    if (at_ == filled_) {
      ssize_t n;
      do n = ::read(file_, buffer_, sizeof buffer_);
      while (n < 0 && errno == EINTR);
      if (n <= 0) return -1;
      at_ = 0;
      filled_ = n;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
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
  char buffer_[4096];
  ssize_t at_ = 0, filled_ = 0;
};

}  // namespace

bool is_mapped(std::uint64_t begin, std::uint64_t bytes, bool write) {
  if (bytes == 0) return true;
  Maps maps;
  if (!maps.readable()) return true;
  const std::uint64_t end = begin + bytes;
  std::uint64_t from, to;
  bool can_read, can_write;
  for (std::uint64_t at = begin; maps.next(from, to, can_read, can_write);) {
    if (to <= at) continue;
    if (from > at || !can_read || (write && !can_write)) return false;
    if (to >= end) return true;
    at = to;
  }
  return false;
}

}  // namespace rxnic::verbs
