// SPDX-License-Identifier: Apache-2.0
// The IPv4 addresses of a fabric's NICs: NIC n has the n-th behind that of NIC 0.
//
//   R1  Unless a run says otherwise they begin with 198.18.0.1. 198.18.0.0/15 is for tests of network devices alone
//       (RFC 2544, RFC 6890). So a program that runs without the model's library reaches no real host by such an
//       address.
//   R2  Each can be a host's: 1.0.0.0 to 223.255.255.255, and not 127.0.0.0/8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/types/wire.h"

namespace rxnic {

struct NicAddresses {
  std::uint32_t first = 0xc6120001;  // (R1) in host order

  Address of(std::uint32_t nic) const { return Address::ipv4(first + nic); }
  // Addresses for so many NICs; none unless all fulfil R2, which kExpected says in words.
  static std::optional<NicAddresses> parse(const std::string& first, std::uint32_t nics);
  static constexpr const char* kExpected =
      "an IPv4 address such as 198.18.0.1: it and those behind it that the other NICs have, all of them of hosts";
};

}  // namespace rxnic
