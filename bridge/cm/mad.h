// SPDX-License-Identifier: Apache-2.0
// Messages of communication management (IBTA volume 1, chapter 12, tables 106 to 120) as management datagrams (13.4.3).
//
//   R1  A MAD is 256 bytes: 24 bytes of header, then the message. Numbers are big-endian. What no field covers is 0.
//   R2  parse() takes a MAD of class 7, version 2, base version 1, method Send, whose attribute is one of Kind.
//   R3  Private data has the length of its field, whatever was put there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

namespace rxnic::cm {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::size_t kMadHeaderBytes = 24;
inline constexpr std::uint32_t kManagementQpn = 1;
inline constexpr std::uint32_t kManagementQkey = 0x80010000;
using Mad = std::array<std::uint8_t, kMadBytes>;
using GidBytes = std::array<std::uint8_t, 16>;

enum class Kind : std::uint16_t {  // attribute ID
  kRequest = 0x10,                 // REQ
  kMoreTime = 0x11,                // MRA
  kReject = 0x12,                  // REJ
  kReply = 0x13,                   // REP
  kReady = 0x14,                   // RTU
  kDisconnect = 0x15,              // DREQ
  kDisconnected = 0x16,            // DREP
  kLookup = 0x17,                  // SIDR_REQ
  kFound = 0x18,                   // SIDR_REP
};

// Table 106: services of a request (transport_service_type).
enum class Service : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };

struct Request {
  static constexpr Kind kKind = Kind::kRequest;
  std::uint32_t local_id = 0;
  std::uint64_t service_id = 0;
  std::uint64_t node_guid = 0;
  std::uint32_t qpn = 0, qkey = 0, starting_psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t remote_response_timeout = 0, local_response_timeout = 0;  // codes: 4.096 us * 2^n
  Service service = Service::kRc;
  std::uint8_t extended_transport = 0;  // 1: XRC
  bool flow_control = false, srq = false;
  std::uint8_t retry_count = 0, rnr_retry = 0, max_cm_retries = 0;
  std::uint16_t pkey = 0;
  std::uint8_t mtu = 0;  // as enum ibv_mtu
  std::uint16_t local_lid = 0, remote_lid = 0;
  GidBytes local_gid{}, remote_gid{};
  std::uint32_t flow_label = 0;
  std::uint8_t rate = 0, traffic_class = 0, hop_limit = 0, service_level = 0, ack_timeout = 0;
  bool subnet_local = false;
  std::array<std::uint8_t, 92> data{};
};
struct MoreTime {
  static constexpr Kind kKind = Kind::kMoreTime;
  std::uint32_t local_id = 0, remote_id = 0;
  std::uint8_t message = 0;  // 0: REQ, 1: REP
  std::uint8_t service_timeout = 0;
};
struct Reject {
  static constexpr Kind kKind = Kind::kReject;
  std::uint32_t local_id = 0, remote_id = 0;
  std::uint8_t message = 0;      // 0: REQ, 1: REP, 2: none
  std::uint8_t info_length = 0;  // of `info`
  std::uint16_t reason = 0;      // table 109
  std::array<std::uint8_t, 72> info{};
  std::array<std::uint8_t, 148> data{};
};
struct Reply {
  static constexpr Kind kKind = Kind::kReply;
  std::uint32_t local_id = 0, remote_id = 0, qkey = 0, qpn = 0, starting_psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0, target_ack_delay = 0, rnr_retry = 0;
  std::uint8_t failover = 0;
  bool flow_control = false, srq = false;
  std::uint64_t node_guid = 0;
  std::array<std::uint8_t, 196> data{};
};
struct Ready {
  static constexpr Kind kKind = Kind::kReady;
  std::uint32_t local_id = 0, remote_id = 0;
  std::array<std::uint8_t, 224> data{};
};
struct Disconnect {
  static constexpr Kind kKind = Kind::kDisconnect;
  std::uint32_t local_id = 0, remote_id = 0, remote_qpn = 0;
  std::array<std::uint8_t, 220> data{};
};
struct Disconnected {
  static constexpr Kind kKind = Kind::kDisconnected;
  std::uint32_t local_id = 0, remote_id = 0;
  std::array<std::uint8_t, 224> data{};
};
struct Lookup {  // of the QP of a datagram service
  static constexpr Kind kKind = Kind::kLookup;
  std::uint32_t request_id = 0;
  std::uint16_t pkey = 0;
  std::uint64_t service_id = 0;
  std::array<std::uint8_t, 216> data{};
};
struct Found {
  static constexpr Kind kKind = Kind::kFound;
  std::uint32_t request_id = 0;
  std::uint8_t status = 0;       // table 121: 0 valid, 1 no such service, 2 rejected...
  std::uint8_t info_length = 0;  // of `info`
  std::uint32_t qpn = 0, qkey = 0;
  std::uint64_t service_id = 0;
  std::array<std::uint8_t, 72> info{};
  std::array<std::uint8_t, 136> data{};
};
using Message = std::variant<Request, MoreTime, Reject, Reply, Ready, Disconnect, Disconnected, Lookup, Found>;

// Reasons of Reject (table 109) that are made here.
enum Reason : std::uint16_t {
  kNoQp = 1,
  kTimeout = 4,
  kInvalidServiceId = 8,
  kInvalidTransportService = 9,
  kStaleConnection = 10,
  kConsumer = 28,
  kDuplicateLocalId = 30,
};

Mad write(const Message& message, std::uint64_t transaction);

struct Received {
  std::uint64_t transaction = 0;
  Message message;
};
// (R2) nothing: it is none of these.
std::optional<Received> parse(std::span<const std::uint8_t> mad);

}  // namespace rxnic::cm
