// SPDX-License-Identifier: Apache-2.0
// Closes descriptors that came from programs.
//
//   R1  Nothing here waits, whatever a descriptor is of: to close the last one of a socket with SO_LINGER takes as long
//       as its program has set, one of a file in user space (FUSE) as long as the program pleases. Pipes, eventfds and
//       memfds are closed at once; SO_LINGER is switched off; everything else is closed by threads.
//   R2  An owner is a program: of each one descriptor at a time is being closed, in the order in which they came. One
//       whose close does not end holds up its owner's alone, as long as there are less than kMostThreads such owners.
//   R3  What is not closed yet is counted. With kMostOfOwner of an owner, or kMost of all, no further packet with
//       descriptors is to be received from it: state() says so, and whether the closes are stuck (kPatience).
//   R4  A connection that has ended is closed without receiving what is still in it: descriptors that were not received
//       are no file of this process, so that no file system is asked. Sockets that linger are cut short.
//   R5  The threads, kMostThreads, exist from the beginning, which throws std::system_error when they cannot: whatever
//       a program does, none is needed later. They take no signals but their own. The destructor does not wait for a
//       close that does not end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "bridge/channel/descriptor_sink.h"

namespace rxnic::channel {

class DescriptorCloser {
 public:
  static constexpr std::size_t kMostOfOwner = 8, kMost = 256;
  static constexpr unsigned kMostThreads = 32;
  static constexpr std::chrono::milliseconds kPatience{1000};
  enum class State { kRoom, kFull, kStuck };

  // close: for tests.
  explicit DescriptorCloser(std::function<void(Descriptor)> close = [](Descriptor) {});
  ~DescriptorCloser();

  void take(std::uint64_t owner, Descriptor descriptor);  // (R1)
  void end(std::uint64_t owner, Descriptor connection);   // (R4)
  State state(std::uint64_t owner) const;                 // (R3)
  std::size_t held() const;                               // not closed yet, of all

  // Takes what one owner passes.
  class Owner final : public DescriptorSink {
   public:
    Owner(DescriptorCloser& closer, std::uint64_t owner) : closer_(closer), owner_(owner) {}
    void take(Descriptor descriptor) override { closer_.take(owner_, std::move(descriptor)); }

   private:
    DescriptorCloser& closer_;
    std::uint64_t owner_;
  };

 private:
  struct Shared;
  void hand_over(std::uint64_t owner, Descriptor descriptor, bool connection);
  void end_threads();
  std::shared_ptr<Shared> shared_;  // with the threads
  std::vector<std::thread> threads_;
};

}  // namespace rxnic::channel
