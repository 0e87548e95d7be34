// SPDX-License-Identifier: Apache-2.0
// The connection manager of the host: what a kernel's ib_cm, rdma_cm and rdma_ucm do for the programs that have opened
// /dev/infiniband/rdma_cm. Without sockets, queue pairs or clocks: its surroundings carry its messages.
//
//   R1  Commands, replies and events are those of <rdma/rdma_user_cm.h>, with the same meaning. A command's errno is
//       the kernel's, ENOSPC among them: the program takes less than the reply. A file sees its own IDs alone: ENOENT
//       for a number that is none, EINVAL for another file's.
//   R2  An address is that of a NIC, or any, or the host's own (a loopback address, or one of its other interfaces). To
//       bind a loopback address is to bind any, as with a kernel; one of another interface is the first NIC that the
//       file sees. A destination is the NIC at which a program of the host listens there: the first that the file
//       sees, or else another one. An ID is of a NIC from its binding to one, or its resolution, on. An address that
//       nobody here has: EADDRNOTAVAIL, ADDR_ERROR. Addresses of family AF_IB: EAFNOSUPPORT.
//   R3  RC and UC: REQ, REP, RTU, DREQ, DREP, REJ (IBTA volume 1, 12.9). A message that is not answered is repeated
//       every kResponseTime, kRetries times; then UNREACHABLE, or the connection ends. A repeated REQ or REP is
//       answered again and has no other effect. UD: SIDR_REQ, SIDR_REP.
//   R4  A request that no program listens for is rejected: reason 8, or SIDR status 1. A request more than the backlog
//       of its listener is dropped; its sender repeats the request.
//   R5  An ID that is destroyed, or whose file is closed, disconnects. It sends DREQ to the peer of an established
//       connection until that is answered. The peer of one that is not established yet gets one REJ, and the sender
//       of a SIDR_REQ status 2. The REJ has reason 4 (timeout) and the NIC's GUID where no REP has come, reason 28
//       otherwise. The ID's events are forgotten, as those of a multicast group that is left: a file without others
//       cannot be read then.
//   R6  Nothing that a peer sends ends the manager or reaches another connection. A message for a communication ID that
//       is unknown, or belongs to another peer, is dropped; a DREQ for such an ID is answered.
//   R7  Private data that does not fit its message is EINVAL, and nothing is sent. The bounds: REQ 56 bytes and
//       SIDR_REQ 180 (behind the header of annex A11), REP 196, REJ 148, SIDR_REP 136. The call may be made again with
//       less. A kernel also rejects the request of a rdma_accept that is refused so; here the program may still reject
//       it.
//   R8  The files of a program may have kMostOfProgram IDs and multicast groups, and count themselves from the second
//       on. All files together may have kMost. One more is ENOMEM, and a request for one more is dropped as one beyond
//       the backlog is. Connections, which outlive their IDs (R5), are
//       bounded by kMostConnections in the same way.
//   R9  An ID resolves its address once and then its route once: EINVAL afterwards. An address that nobody has may be
//       tried again. While kMostErrors events of such tries have not been taken the next try is ENOMEM. So the events
//       that wait are bounded by the IDs, whatever a program leaves unread.
//   R10 A REJ ends its connection and raises REJECTED with its reason as status; accept and reject are EINVAL then. One
//       of reason 4 may lack this side's number: it is for the connection whose peer has its sender's GUID and number.
//       Nothing is raised for a request that has not been accepted, as by a kernel: its accept fails instead.
//   R11 Each port space has one set of ports, for all NICs. Two IDs of one port exclude each other: by EADDRNOTAVAIL
//       when one is bound to any, by EADDRINUSE at equal addresses. IDs of different families do not when each is of
//       one family. RDMA_OPTION_ID_AFONLY says whether it is; by itself an IPv4 ID is, an IPv6 ID is not. Where several
//       IDs exclude a port the one that was bound last gives the error.
//   R12 IDs with RDMA_OPTION_ID_REUSEADDR may be bound to one port. An ID that listens has to be alone: listen checks
//       as R11 says and takes the option away. An ID takes options while a kernel's does: AFONLY until it listens or
//       has resolved, REUSEADDR until it listens, its removal until it is bound. Otherwise EINVAL.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "bridge/cm/endpoint.h"
#include "bridge/cm/mad.h"

namespace rxnic::cm {

enum class File : std::uint32_t {};     // an open /dev/infiniband/rdma_cm
using Time = std::chrono::nanoseconds;  // of a clock that never goes back

// As enum rdma_cm_event_type of <rdma/rdma_cma.h>.
enum EventKind : std::uint32_t {
  kAddressResolved,
  kAddressError,
  kRouteResolved,
  kRouteError,
  kConnectRequest,
  kConnectResponse,
  kConnectError,
  kUnreachable,
  kRejected,
  kEstablished,
  kDisconnected,
  kDeviceRemoval,
  kMulticastJoin,
  kMulticastError,
  kAddressChange,
  kTimeWaitExit,
};

struct NicAddress {
  std::uint64_t node_guid = 0;  // as in memory
  std::uint8_t mtu = 5;         // as enum ibv_mtu
  struct Gid {
    GidBytes bytes{};
    std::uint8_t index = 0;  // in the port's table
  };
  Gid v4, v6;  // over RoCEv2
};

// What the manager asks of its surroundings.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual void send(std::uint32_t nic, std::uint8_t gid_index, const GidBytes& to, const Mad& mad) = 0;
  virtual void notify(File file) = 0;                     // one more event waits in this file
  virtual void retract(File file, std::size_t left) = 0;  // events went without being read: so many wait
  virtual bool is_of_host(const GidBytes& ip) const = 0;  // an interface of the host has this address
};

class Manager {
 public:
  static constexpr std::uint8_t kTimeCode = 20;  // 4.096 us * 2^20
  static constexpr Time kResponseTime{4096ll << kTimeCode};
  static constexpr unsigned kRetries = 15;
  static constexpr Time kTimeWait{4096ll << 19};
  static constexpr long kMostOfProgram = 16384, kMost = 65535;  // librdmacm knows no greater number of an ID
  static constexpr std::uint32_t kMostErrors = 16;
  static constexpr std::size_t kMostConnections = 2 * std::size_t{kMost};

  Manager(std::vector<NicAddress> nics, Surroundings& surroundings, std::uint32_t seed);
  ~Manager();

  // A file that sees all NICs, or one. `program`: whose file it is; 0: not known, as a program of its own.
  void open(File file, std::optional<std::uint32_t> only_nic, std::uint64_t program = 0);
  void close(File file, Time now);
  // A command without its header; `out` bytes of reply are wanted. 0 or a positive errno.
  int command(File file, std::uint32_t number, std::span<const std::uint8_t> in, std::size_t out, Time now,
              std::vector<std::uint8_t>& reply);
  // A MAD that came to QP 1 of the NIC.
  void receive(std::uint32_t nic, const GidBytes& from, std::span<const std::uint8_t> mad, Time now);
  void run_timers(Time now);
  std::optional<Time> next_due() const;

  // A message was sent whose answer has not come; a connection that has ended and keeps its number does not count.
  bool awaits_answers() const;

  std::size_t ids() const { return ids_.size(); }
  std::size_t connections() const { return connections_.size(); }

 private:
  enum class State : std::uint8_t {
    kRequestSent,
    kRequestReceived,
    kReplySent,
    kReplyReceived,
    kEstablished,
    kDisconnectSent,
    kDisconnectReceived,
    kTimeWait,
    kEnded,
    kLookupSent,
    kLookupReceived,
  };
  struct Id;
  // A conversation with a peer, by its local communication ID. It may outlive its ID (R5).
  struct Connection {
    std::uint32_t local = 0, remote = 0;
    State state = State::kRequestSent;
    Id* id = nullptr;
    std::uint32_t nic = 0;
    std::uint8_t gid_index = 0;
    GidBytes peer{};
    std::uint64_t transaction = 0, service = 0;
    std::uint64_t remote_guid = 0;  // as in memory; 0: not known
    std::uint32_t remote_qpn = 0, sq_psn = 0;
    std::uint8_t responder_resources = 0, initiator_depth = 0, retry_count = 0, rnr_retry = 0, mtu = 0;
    bool xrc_target = false;
    Mad repeated{};  // while `due` is set: sent again then
    std::optional<Time> due;
    unsigned retries = 0;
  };
  // Held by each ID and group of a file: use_count() - 1 of the owner's is their number. (R8)
  struct Place {
    std::shared_ptr<int> of_file, of_all;
  };
  struct Multicast {
    std::uint32_t number = 0;
    std::uint64_t uid = 0;
    Endpoint group;
    std::uint32_t events_reported = 0;
    Place place{};
  };
  struct Event {
    Id* id = nullptr;
    std::uint32_t multicast = 0;   // its number, 0: none
    std::unique_ptr<Id> accepted;  // CONNECT_REQUEST: the new ID, which gets a number when the program takes the event
    rdma_ucm_event_resp text{};
  };
  struct OpenFile {
    std::optional<std::uint32_t> only_nic;
    std::deque<Event> events;
    std::uint64_t program = 0;
    std::shared_ptr<int> ids;  // of its program
  };
  struct Id {
    std::uint32_t number = 0;
    File file{};
    std::uint64_t uid = 0;
    std::uint16_t port_space = 0;
    std::uint8_t qp_type = 0;
    Endpoint source, destination;
    std::optional<std::uint32_t> nic;
    bool addressed = false, routed = false, listening = false;
    // Counts the IDs that took the port of their `source`; 0: has none of its own, as one that came with a request.
    std::uint64_t bound = 0;
    bool reuses = false;             // its address
    std::optional<bool> one_family;  // RDMA_OPTION_ID_AFONLY
    std::uint8_t tos = 0;
    std::optional<std::uint8_t> ack_timeout;
    std::uint32_t backlog = 0;
    std::uint32_t first_psn = 0;
    std::uint32_t events_reported = 0;
    std::uint32_t errors = 0;  // events ADDR_ERROR that wait (R9)
    Connection* connection = nullptr;
    std::map<std::uint32_t, Multicast> groups;
    Place place;
    bool is_datagram() const;
    bool is_of_one_family(const Endpoint& at) const { return one_family.value_or(at.v4); }
    bool takes_family_of(const Endpoint& other) const {
      return source.v4 == other.v4 || (source.is_any() && !is_of_one_family(source));
    }
  };
  using Output = std::vector<std::uint8_t>;

  // manager.cpp, manager_addresses.cpp, manager_connections.cpp
  Id* find(File file, std::uint32_t number, int& error);
  int create_id(File file, std::span<const std::uint8_t> in, Output& reply);
  int destroy_id(File file, std::span<const std::uint8_t> in, Time now, Output& reply);
  int bind(Id& id, Endpoint address);
  int resolve_address(Id& id, const std::optional<Endpoint>& source, const Endpoint& destination);
  int resolve_route(Id& id);
  int query_route(const Id& id, std::size_t out, Output& reply) const;
  int query(const Id& id, std::uint32_t option, std::size_t out, Output& reply) const;
  int listen(Id& id, std::uint32_t backlog);
  int connect(Id& id, const rdma_ucm_conn_param& param, Time now);
  int accept(Id& id, const rdma_ucm_accept& asked, Time now);
  int reject(Id& id, const rdma_ucm_reject& asked);
  int disconnect(Id& id, Time now);
  int init_qp_attributes(const Id& id, std::uint32_t state, Output& reply) const;
  int set_option(Id& id, const rdma_ucm_set_option& asked, std::span<const std::uint8_t> value);
  int notify(Id& id, std::uint32_t event);
  int join(Id& id, const Endpoint& group, std::uint64_t uid, Output& reply);
  int leave(File file, std::span<const std::uint8_t> in, Output& reply);
  int migrate(File to, std::span<const std::uint8_t> in, Output& reply);
  int take_event(File file, std::size_t out, Output& reply);
  int on_id(File file, std::uint32_t number, std::span<const std::uint8_t> in, std::size_t out, Time now,
            Output& reply);
  std::uint32_t take_number();
  bool has_room(File file) const;  // for one more ID or group (R8)
  Place place_in(File file) const { return {files_.at(file).ids, all_}; }
  void erase(const Id& id);
  std::optional<std::uint32_t> nic_of(const Endpoint& address) const;
  std::uint32_t first_nic(const Id& id) const;
  bool sees(const Id& id, std::uint32_t nic) const;
  bool is_own(const Endpoint& address) const;
  std::uint32_t nic_of_host(const Id& id, const Endpoint& destination) const;
  int take_port(Id& id, Endpoint address);
  int check_port(const Id& id, const Endpoint& address, bool reuses) const;
  void fill_path(const Id& id, ib_user_path_rec& path) const;
  ib_uverbs_ah_attr path_to(const Id& id, const GidBytes& to) const;
  const NicAddress::Gid& own_gid(const Id& id) const;
  void forget(Id& id, Time now);
  void leave_connection(Connection& connection, Time now);

  // manager_sent.cpp, manager_received.cpp
  Connection& begin(Id* id, std::uint32_t nic, std::uint8_t gid_index, const GidBytes& peer, State state);
  void end(Connection& connection);
  void send(const Connection& connection, const Message& message);
  void send_repeated(Connection& connection, const Message& message, Time now);
  void send_request(Connection& connection, const rdma_ucm_conn_param& param, Time now);
  void send_lookup(Connection& connection, const rdma_ucm_conn_param& param, Time now);
  void send_disconnect(Connection& connection, Time now);
  void enter_time_wait(Connection& connection, Time now);
  void reject_request(const Connection& connection, std::uint16_t reason, std::span<const std::uint8_t> data);
  void reject_lookup(const Connection& connection, std::span<const std::uint8_t> data);
  Connection* of_peer(std::uint32_t local, std::uint32_t remote, std::uint32_t nic, const GidBytes& from);
  Connection* given_up(const Reject& m, std::uint32_t nic, const GidBytes& from);
  Id* listener_for(std::uint32_t nic, const GidBytes& to, std::uint64_t service, const CmHeader& header);
  std::unique_ptr<Id> accepted_id(Id& listener, std::uint32_t nic, const CmHeader& header, std::uint64_t service);
  void take(const Request& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const MoreTime& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const Reject& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const cm::Reply& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const Ready& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const Disconnect& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const Disconnected& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const Lookup& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void take(const Found& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now);
  void time_out(Connection& connection, Time now);
  void established(Connection& connection);

  // Events.
  rdma_ucm_event_resp event_of(const Id& id, std::uint32_t event, std::int32_t status = 0) const;
  void raise(Id& id, const rdma_ucm_event_resp& event, std::uint32_t multicast = 0);
  void raise(Id& id, std::uint32_t event, std::int32_t status = 0) { raise(id, event_of(id, event, status)); }
  void retract(File file) { surroundings_.retract(file, files_.at(file).events.size()); }

  const std::vector<NicAddress> nics_;
  Surroundings& surroundings_;
  std::mt19937 random_;
  std::shared_ptr<int> all_ = std::make_shared<int>();
  std::map<File, OpenFile> files_;
  std::map<std::uint32_t, std::unique_ptr<Id>> ids_;
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;  // by local communication ID
  std::set<std::uint32_t> free_numbers_;                              // of IDs, below last_id_
  std::uint32_t last_id_ = 0, last_group_ = 0, last_local_ = 0;
  std::uint64_t last_transaction_ = 0, last_bound_ = 0;
  std::uint16_t last_port_ = 0;
};

}  // namespace rxnic::cm
