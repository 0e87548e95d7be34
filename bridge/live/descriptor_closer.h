// SPDX-License-Identifier: Apache-2.0
// Closes descriptors that came from programs.
//
//   R1  take() never waits, whatever the descriptor is of: to close the last one of a socket with SO_LINGER takes as
//       long as its program has set, one of a file in user space (FUSE) as long as the program pleases. Pipes, eventfds
//       and memfds are closed at once; SO_LINGER is switched off; everything else is closed by a thread.
//   R2  The thread exists from the beginning, which throws std::system_error when it cannot. It takes no signals. The
//       destructor does not wait for a close that does not end.
#pragma once

#include <memory>
#include <thread>

#include "bridge/channel/descriptor_sink.h"

namespace rxnic {

class DescriptorCloser final : public channel::DescriptorSink {
 public:
  DescriptorCloser();
  ~DescriptorCloser() override;
  void take(channel::Descriptor descriptor) override;
  std::size_t waiting() const;  // for the thread

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread
  std::thread thread_;
};

}  // namespace rxnic
