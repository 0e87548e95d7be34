// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace rxnic::verbs {

static_assert(channel::kHeapOffset % kPageBytes == 0 && channel::kMappingBytes % kPageBytes == 0);

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(base_, channel::kMappingBytes);
}

int Mapping::create() {
  file_.reset(memfd_create("rxnic-queues", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file_) return errno;
  if (ftruncate(file_.get(), static_cast<off_t>(channel::kMappingBytes)) != 0 ||
      fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errno;
  }
  void* base =
      mmap(nullptr, channel::kMappingBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (base == MAP_FAILED) return errno;
  base_ = base;
  auto& header = *static_cast<channel::MappingHeader*>(base_);
  header.magic = channel::kMagic;
  header.version = channel::kVersion;
  header.header_bytes = sizeof header;
  header.mapping_bytes = channel::kMappingBytes;
  return 0;
}

bool Mapping::allocate(std::uint64_t bytes, Ring& ring) {
  ring = {};
  if (bytes == 0) return true;
  const std::lock_guard guard(lock_);
  const auto offset = heap_.allocate(bytes);
  if (!offset) return false;
  ring = {static_cast<std::uint8_t*>(base_) + *offset, *offset, bytes};
  return true;
}

void Mapping::free(Ring& ring) {
  if (ring.bytes != 0) {
    const std::lock_guard guard(lock_);
    madvise(ring.memory, whole_pages(ring.bytes), MADV_REMOVE);  // R2
    heap_.free(ring.offset, ring.bytes);
  }
  ring = {};
}

void Mapping::free(std::uint8_t* memory, std::uint64_t bytes) {
  Ring ring{memory, static_cast<std::uint64_t>(memory - static_cast<std::uint8_t*>(base_)), bytes};
  free(ring);
}

bool Mapping::allocate_record(channel::Board board, std::uint32_t& record) {
  const std::lock_guard guard(lock_);
  const auto free = records_[pool(board)].allocate();
  if (!free) return false;
  record = *free;
  clear_record(board, record);
  if (board == channel::Board::kConsumer) clear_record(channel::Board::kArm, record);
  return true;
}

void Mapping::free_record(channel::Board board, std::uint32_t record) {
  const std::lock_guard guard(lock_);
  records_[pool(board)].free(record);
}

void Mapping::clear_record(channel::Board board, std::uint32_t record) {
  channel::board(base_, board).value[record].store(0, std::memory_order_release);
}

void Mapping::become_child() {
  lock_.reset();
  file_.reset();
  if (base_ == nullptr) return;
  (void)mmap(base_, channel::kMappingBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace rxnic::verbs
