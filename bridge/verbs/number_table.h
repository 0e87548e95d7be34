// SPDX-License-Identifier: Apache-2.0
// From the device's number of an object (QPN, CQN, SRQN: 24 bits) to the object.
//
//   R1  find() takes no lock. Whoever uses what it returns holds a lock that the object's destruction takes, too.
//   R2  set() and erase() are called under one lock, the same for all calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace rxnic::verbs {

template <class T>
class NumberTable {
 public:
  NumberTable() = default;
  NumberTable(const NumberTable&) = delete;
  NumberTable& operator=(const NumberTable&) = delete;
  ~NumberTable() {
    for (auto& page : pages_) delete page.load(std::memory_order_relaxed);
  }

  T* find(std::uint32_t number) const {
    if (number > kMaxNumber) return nullptr;
    const Page* page = pages_[number / kPageEntries].load(std::memory_order_acquire);
    return page == nullptr ? nullptr : page->entries[number % kPageEntries].load(std::memory_order_acquire);
  }
  // False: no memory, or the number has more than 24 bits.
  bool set(std::uint32_t number, T* object) {
    if (number > kMaxNumber) return false;
    std::atomic<Page*>& slot = pages_[number / kPageEntries];
    Page* page = slot.load(std::memory_order_relaxed);
    if (page == nullptr) {
      page = new (std::nothrow) Page();
      if (page == nullptr) return false;
      slot.store(page, std::memory_order_release);
    }
    page->entries[number % kPageEntries].store(object, std::memory_order_release);
    return true;
  }
  void erase(std::uint32_t number) {
    if (find(number) != nullptr) set(number, nullptr);
  }
  // Calls visit(object) for each object.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& slot : pages_) {
      const Page* page = slot.load(std::memory_order_acquire);
      if (page == nullptr) continue;
      for (const auto& entry : page->entries) {
        if (T* object = entry.load(std::memory_order_acquire)) visit(*object);
      }
    }
  }

 private:
  static constexpr std::uint32_t kMaxNumber = (1u << 24) - 1;
  static constexpr std::uint32_t kPageEntries = 4096;
  struct Page {
    std::atomic<T*> entries[kPageEntries] = {};
  };
  std::atomic<Page*> pages_[(kMaxNumber + 1) / kPageEntries] = {};
};

}  // namespace rxnic::verbs
