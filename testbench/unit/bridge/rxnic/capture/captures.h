// SPDX-License-Identifier: Apache-2.0
// The shared captures, each with the sides that can be the receiver. They are not part of the tree: a test skips those
// that are not there.
#pragma once

#include <cctype>
#include <ostream>
#include <string>
#include <vector>

namespace rxnic {

inline const std::string kCaptures = RXNIC_SHARED_DIR "/captures/";

struct CaptureSide {
  std::string file;
  std::string receiver;
};
inline void PrintTo(const CaptureSide& s, std::ostream* out) { *out << s.file << " " << s.receiver; }

inline std::vector<CaptureSide> capture_sides() {
  const std::string a = "10.1.16.61";
  const std::string b = "10.1.16.62";
  std::vector<CaptureSide> all;
  for (const char* name : {"pingpong_rc", "pingpong_uc", "pingpong_ud", "rdma_atomic_bw", "rdma_cm", "rdma_read_bw",
                           "rdma_send_bw", "rdma_write_bw", "rping"}) {
    for (const auto& side : {a, b}) all.push_back({"soft_roce/" + std::string(name) + ".pcap", side});
  }
  for (const char* side : {"172.30.0.11", "172.30.0.12", "172.30.0.25"}) {
    all.push_back({"soft_roce/ring2_node0.pcap", side});
  }
  for (const char* name : {"nic_read", "nic_write", "send_32qp_with_losses"}) {
    for (const char* side : {"172.17.242.47", "172.17.242.56"}) {
      all.push_back({"nic/" + std::string(name) + ".pcap", side});
    }
  }
  for (const char* side : {"172.16.0.103", "172.16.0.110"}) all.push_back({"nic/nvmeof_discover.pcap", side});
  return all;
}

// For a test's name.
inline std::string side_name(const CaptureSide& side) {
  std::string name = side.file.substr(side.file.find('/') + 1) + "_" + side.receiver;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace rxnic
