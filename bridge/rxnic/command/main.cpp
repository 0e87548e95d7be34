// SPDX-License-Identifier: Apache-2.0
// The program. SystemC's library has a main() too, which prints a banner; this one does not.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <systemc>

#include "bridge/rxnic/command/cli.h"
#include "bridge/rxnic/output/standard_streams.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these have a heap of their own
namespace {

// The first 64 MiB of the heap are in the system's large pages, where it has some. A run of a short capture takes less
// than half of its page faults so, and two thirds of its time. Behind them, what is larger than 4 MiB has a mapping of
// its own.
void prepare_heap(int, char**, char**) {
  constexpr std::uintptr_t kHeap = 64u << 20, kLargest = 4u << 20, kLargePage = 2u << 20;
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, 2 * kHeap);
  mallopt(M_TOP_PAD, kHeap);
  const auto begin = reinterpret_cast<std::uintptr_t>(sbrk(0));
  void* volatile first = std::malloc(1);  // makes the heap; without `volatile` the compiler leaves it out
  std::free(first);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  mallopt(M_TOP_PAD, kLargest);
  const std::uintptr_t from = (begin + kLargePage - 1) / kLargePage * kLargePage;
  if (end > from) madvise(reinterpret_cast<void*>(from), end - from, MADV_HUGEPAGE);
}

// Before the constructors of the libraries: SystemC's takes 3 MiB.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kAtFirst)(int, char**, char**) = prepare_heap;

}  // namespace
#endif

int sc_main(int argc, char* argv[]) {
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);  // it writes to standard output
  return rxnic::run_program(argc, argv);
}

int main(int argc, char* argv[]) {
  rxnic::open_standard_streams();
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
