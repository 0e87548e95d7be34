// SPDX-License-Identifier: Apache-2.0
// What a capture says of the interface that a packet comes from.
#pragma once

#include <cstdint>
#include <string>

namespace rxnic {

struct CaptureInterface {
  int link_type = 0;                 // LINKTYPE_ of www.tcpdump.org
  std::uint32_t snapshot = 0;        // bytes; 0: no limit
  std::uint8_t time_resolution = 6;  // as of pcapng: 10^-n s, or with the high bit 2^-n s
  std::int64_t offset_seconds = 0;   // to be added to its times
  std::string options;               // of pcapng: its other options that are bytes, whatever the order of bytes
};

}  // namespace rxnic
