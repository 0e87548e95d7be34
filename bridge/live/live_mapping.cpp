// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/live_mapping.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace rxnic {

namespace {

int refuse(std::string& why, std::string text, int status = EINVAL) {
  why = std::move(text);
  return status;
}

}  // namespace

LiveMapping::~LiveMapping() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

int LiveMapping::open(int descriptor, std::string& why) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(descriptor, F_GET_SEALS);
  struct stat file;
  struct statfs system;
  if (seals < 0 || fstat(descriptor, &file) != 0 || fstatfs(descriptor, &system) != 0) {
    return refuse(why, "the mapping is no memfd");
  }
  // With huge pages, a page that can no longer be allocated is SIGBUS.
  if (system.f_type != TMPFS_MAGIC) return refuse(why, "the mapping does not consist of ordinary pages");
  if ((seals & kNeeded) != kNeeded) return refuse(why, "the mapping is not sealed against shrinking and growing");
  const auto bytes = static_cast<std::uint64_t>(file.st_size);
  if (bytes < channel::kHeapOffset || bytes > channel::kMappingBytes) {
    return refuse(why, "the mapping has " + std::to_string(bytes) + " bytes, expected " +
                           std::to_string(channel::kHeapOffset) + " to " + std::to_string(channel::kMappingBytes));
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED) {
    const int status = errno;
    return refuse(why, std::string("the mapping cannot be mapped: ") + std::strerror(status), status);
  }
  madvise(base, bytes, MADV_DONTFORK);  // a doorkeeper that is started later has no use for it
  base_ = base;
  bytes_ = bytes;

  const channel::MappingHeader& h = header();
  const std::uint64_t magic = h.magic, stated_bytes = h.mapping_bytes;
  const std::uint32_t version = h.version, header_bytes = h.header_bytes;
  if (magic != channel::kMagic) return refuse(why, "the mapping does not begin with the channel's magic number");
  if (version != channel::kVersion) {
    return refuse(why,
                  "the mapping is of version " + std::to_string(version) +
                      " of the channel, this simulator of version " + std::to_string(channel::kVersion),
                  EPROTO);
  }
  if (header_bytes != sizeof(channel::MappingHeader) || stated_bytes != bytes) {
    return refuse(why, "the mapping's header does not state its sizes");
  }
  return 0;
}

void LiveMapping::completed() {
  header().completions.fetch_add(1, std::memory_order_seq_cst);
  completed_ = true;
}

void LiveMapping::wake() {  // (R3)
  if (!completed_) return;
  completed_ = false;
  channel::MappingHeader& h = header();
  if (h.waiting.load(std::memory_order_seq_cst) == 0 || h.waiting.exchange(0, std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &h.waiting, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rxnic
