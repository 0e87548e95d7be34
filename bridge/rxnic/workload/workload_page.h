// SPDX-License-Identifier: Apache-2.0
// A workload: what its page says, with the value of every key.
//
//   R1  Times are model time in ps, sizes bytes of a message, rates Gb/s. The key table (page_keys.h) has the unit, the
//       range and the meaning of each member; a default stands here alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rxnic/workload/mpi_page.h"
#include "bridge/rxnic/workload/receiver_page.h"

namespace rxnic {

enum class SenderTransport : std::uint8_t { kRc, kUc, kUd, kXrc };
enum class SizeKind : std::uint8_t { kFixed, kUniform, kLogNormal, kBimodal, kCdf };
// kMpi stands in no page: the senders of [mpi].
enum class ArrivalKind : std::uint8_t { kClosed, kPoisson, kConstant, kOnOff, kIncast, kRing, kAllToAll, kMpi };
enum class QpChoice : std::uint8_t { kInOrder, kUniform, kZipf };
enum class PageEncapsulation : std::uint8_t { kRoceV2Ipv4, kRoceV2Ipv6, kRoceV1 };

// Weights of the kinds of message.
struct SenderMix {
  std::uint64_t send = 1, send_imm = 0, send_inv = 0, write = 0, write_imm = 0, read = 0, compare_swap = 0,
                fetch_add = 0, atomic_write = 0, eager = 0, rendezvous = 0;
};

// A point of a cumulative distribution: so many of all messages have at most so many bytes.
struct CdfPoint {
  double bytes = 0;
  double share = 0;  // 0 to 1
  bool operator==(const CdfPoint&) const = default;
};

// One table [[senders]]: hosts that do the same.
struct SendersPage {
  std::uint64_t peers = 1;
  std::uint64_t qps = 1;  // of each peer
  SenderTransport transport = SenderTransport::kRc;
  std::uint64_t mtu = 1024;
  std::uint64_t start = 0;
  SenderMix mix;
  std::uint64_t tags = 1024;

  SizeKind size = SizeKind::kFixed;
  std::uint64_t bytes = 64;
  std::uint64_t min_bytes = 64, max_bytes = 65536;
  std::uint64_t median_bytes = 1024;
  double sigma = 1;
  std::uint64_t small_bytes = 64, large_bytes = 65536;
  double large_percent = 10;
  std::string cdf = "web_search";
  std::vector<CdfPoint> cdf_points;  // of `cdf`, when size is cdf

  ArrivalKind arrivals = ArrivalKind::kClosed;
  std::uint64_t window = 16;
  std::uint64_t think = 0;
  std::uint64_t interval = 1'000'000;
  double load = 0;
  std::uint64_t on = 10'000'000, off = 10'000'000;

  QpChoice choice = QpChoice::kInOrder;
  double zipf_s = 1;
  std::uint64_t burst = 1;

  std::uint64_t reads = 16;
  std::uint64_t timeout = 1'000'000'000;
  std::uint64_t retries = 7;
};

struct NetworkPage {
  PageEncapsulation encapsulation = PageEncapsulation::kRoceV2Ipv4;
  std::uint64_t link_gbps = 0;
  std::uint64_t delay = 1'000'000;
  std::uint64_t loss_ppm = 0, corrupt_ppm = 0, duplicate_ppm = 0, reorder_ppm = 0, mark_ppm = 0, pause_ppm = 0,
                answer_loss_ppm = 0;
  std::uint64_t reorder_depth = 3;
  std::uint64_t pause_time = 10'000'000;
  std::string lose, corrupt, duplicate, reorder, mark, pause, lose_answers;  // numbers of packets: "17,40-42"
};

struct WorkloadPage {
  std::string about;
  std::uint64_t packets = 20'000;
  std::uint64_t seed = 1;
  std::vector<SendersPage> senders;
  MpiPage mpi;
  NetworkPage network;
  ReceiverPage receiver;
};

}  // namespace rxnic
