// SPDX-License-Identifier: Apache-2.0
// Rules of bridge/cm/manager.h: commands as a program gives them, messages carried between the NICs of one manager.
#include "bridge/cm/manager.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>
#include <set>
#include <string>

namespace rxnic::cm::manager_test {
namespace {

constexpr File kServer{1}, kClient{2};
constexpr std::uint16_t kService = 7471;
const Endpoint kHost = ipv4_endpoint(0xc0000201, kService);  // an interface of the host that is no NIC's

class ManagerTest : public testing::Test, public Surroundings {
 protected:
  struct Sent {
    std::uint32_t nic;
    GidBytes to;
    Mad mad;
  };
  ManagerTest() : manager(two_nics(), *this, 1) {
    manager.open(kServer, 1);
    manager.open(kClient, 0);
  }
  static std::vector<NicAddress> two_nics() {
    std::vector<NicAddress> nics(2);
    for (std::uint32_t n = 0; n < 2; ++n) {
      nics[n].node_guid = 0x100 + n;
      nics[n].v4 = {ipv4_endpoint(0xc6120001 + n).ip, 2};
      nics[n].v6.bytes = {0xfe, 0x80};
      nics[n].v6.bytes[15] = static_cast<std::uint8_t>(n + 1);
      nics[n].v6.index = 1;
    }
    return nics;
  }

  void send(std::uint32_t nic, std::uint8_t, const GidBytes& to, const Mad& mad) override {
    sent.push_back({nic, to, mad});
    if (!loses) wire.push_back({nic, to, mad});
  }
  void notify(File file) override { ++notified[file]; }
  void retract(File file, std::size_t left) override { waiting[file] = left; }
  bool is_of_host(const GidBytes& ip) const override { return ip == kHost.ip; }
  // Brings what was sent to its NIC, and what that sends.
  void deliver() {
    while (!wire.empty()) {
      const Sent s = wire.front();
      wire.erase(wire.begin());
      for (std::uint32_t n = 0; n < 2; ++n) {
        const NicAddress to = two_nics()[n];
        if (s.to != to.v4.bytes && s.to != to.v6.bytes) continue;
        const NicAddress from = two_nics()[s.nic];
        manager.receive(n, s.to == to.v4.bytes ? from.v4.bytes : from.v6.bytes, s.mad, now);
      }
    }
  }

  template <class C>
  int command(File file, std::uint32_t number, const C& c, std::size_t out = 1024) {
    return manager.command(file, number, {reinterpret_cast<const std::uint8_t*>(&c), sizeof c}, out, now, reply);
  }
  template <class R>
  R replied() const {
    R r{};
    std::memcpy(&r, reply.data(), std::min(sizeof r, reply.size()));
    return r;
  }
  std::uint32_t create(File file, std::uint64_t uid, std::uint16_t space = RDMA_PS_TCP) {
    rdma_ucm_create_id c{};
    c.uid = uid;
    c.ps = space;
    EXPECT_EQ(command(file, RDMA_USER_CM_CMD_CREATE_ID, c), 0);
    return replied<rdma_ucm_create_id_resp>().id;
  }
  template <class C>
  static void put(const Endpoint& e, C& to) {
    write_sockaddr(e, {reinterpret_cast<std::uint8_t*>(&to), sizeof to});
  }
  int bind(File file, std::uint32_t id, const Endpoint& to) {
    rdma_ucm_bind c{};
    c.id = id;
    c.addr_size = to.v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    put(to, c.addr);
    return command(file, RDMA_USER_CM_CMD_BIND, c);
  }
  int listen(File file, std::uint32_t id, std::uint32_t backlog = 8) {
    return command(file, RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, backlog});
  }
  int resolve(File file, std::uint32_t id, const Endpoint& to) {
    rdma_ucm_resolve_addr c{};
    c.id = id;
    c.dst_size = sizeof(sockaddr_in);
    put(to, c.dst_addr);
    return command(file, RDMA_USER_CM_CMD_RESOLVE_ADDR, c);
  }
  // An ID that has resolved the address and the route to it.
  std::uint32_t routed(File file, std::uint64_t uid, const Endpoint& to, std::uint16_t space = RDMA_PS_TCP) {
    const std::uint32_t id = create(file, uid, space);
    EXPECT_EQ(resolve(file, id, to), 0);
    EXPECT_EQ(event(file).event, kAddressResolved);
    EXPECT_EQ(command(file, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}), 0);
    EXPECT_EQ(event(file).event, kRouteResolved);
    return id;
  }
  rdma_ucm_query_route_resp route(File file, std::uint32_t id) {
    rdma_ucm_query q{};
    q.id = id;
    EXPECT_EQ(command(file, RDMA_USER_CM_CMD_QUERY_ROUTE, q), 0);
    return replied<rdma_ucm_query_route_resp>();
  }
  // The source of an ID's route.
  sockaddr_in source(File file, std::uint32_t id) {
    const rdma_ucm_query_route_resp r = route(file, id);
    sockaddr_in in;
    std::memcpy(&in, &r.src_addr, sizeof in);
    return in;
  }
  static rdma_ucm_conn_param param(std::uint32_t qpn, const char* data = "") {
    rdma_ucm_conn_param p{};
    p.qp_num = qpn;
    p.private_data_len = static_cast<std::uint8_t>(std::strlen(data));
    std::memcpy(p.private_data, data, p.private_data_len);
    p.responder_resources = 3;
    p.initiator_depth = 4;
    p.retry_count = 5;
    p.rnr_retry_count = 6;
    p.valid = 1;
    return p;
  }
  int connect(File file, std::uint32_t id, std::uint32_t qpn, const char* data = "") {
    rdma_ucm_connect c{};
    c.id = id;
    c.conn_param = param(qpn, data);
    return command(file, RDMA_USER_CM_CMD_CONNECT, c);
  }
  int accept(File file, std::uint32_t id, std::uint64_t uid, std::uint32_t qpn, const char* data = "") {
    rdma_ucm_accept c{};
    c.id = id;
    c.uid = uid;
    c.conn_param = param(qpn, data);
    return command(file, RDMA_USER_CM_CMD_ACCEPT, c);
  }
  int establish(File file, std::uint32_t id) {
    rdma_ucm_accept c{};
    c.id = id;
    return command(file, RDMA_USER_CM_CMD_ACCEPT, c);
  }
  int destroy(File file, std::uint32_t id) {
    rdma_ucm_destroy_id c{};
    c.id = id;
    return command(file, RDMA_USER_CM_CMD_DESTROY_ID, c);
  }
  int disconnect(File file, std::uint32_t id) {
    return command(file, RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id});
  }
  rdma_ucm_event_resp event(File file) {
    EXPECT_EQ(command(file, RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}), 0) << "no event";
    return replied<rdma_ucm_event_resp>();
  }
  bool quiet(File file) { return command(file, RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}) == EAGAIN; }
  ib_uverbs_qp_attr attributes(File file, std::uint32_t id, std::uint32_t state) {
    rdma_ucm_init_qp_attr c{};
    c.id = id;
    c.qp_state = state;
    EXPECT_EQ(command(file, RDMA_USER_CM_CMD_INIT_QP_ATTR, c), 0);
    return replied<ib_uverbs_qp_attr>();
  }

  template <class Value>
  int set_option(File file, std::uint32_t id, std::uint32_t name, Value value) {
    rdma_ucm_set_option option{};
    option.id = id;
    option.level = RDMA_OPTION_ID;
    option.optname = name;
    option.optlen = sizeof value;
    std::array<std::uint8_t, sizeof option + sizeof value> c;
    std::memcpy(c.data(), &option, sizeof option);
    std::memcpy(c.data() + sizeof option, &value, sizeof value);
    return command(file, RDMA_USER_CM_CMD_SET_OPTION, c);
  }

  struct Pair {
    std::uint32_t listener, server, client;
  };
  Pair connected() {
    Pair p{};
    p.listener = create(kServer, 10);
    EXPECT_EQ(bind(kServer, p.listener, ipv4_endpoint(0, kService)), 0);
    EXPECT_EQ(listen(kServer, p.listener), 0);
    p.client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService));
    EXPECT_EQ(connect(kClient, p.client, 0x111), 0);
    deliver();
    p.server = event(kServer).id;
    EXPECT_EQ(accept(kServer, p.server, 11, 0x222), 0);
    deliver();
    EXPECT_EQ(event(kClient).event, kConnectResponse);
    EXPECT_EQ(establish(kClient, p.client), 0);
    deliver();
    EXPECT_EQ(event(kServer).event, EventKind::kEstablished);
    sent.clear();
    return p;
  }
  std::uint32_t listening(std::uint16_t space = RDMA_PS_TCP) {
    const std::uint32_t listener = create(kServer, 10, space);
    EXPECT_EQ(bind(kServer, listener, ipv4_endpoint(0, kService)), 0);
    EXPECT_EQ(listen(kServer, listener), 0);
    return listener;
  }
  // A client whose request has come to the server.
  std::uint32_t requested(std::uint16_t space = RDMA_PS_TCP) {
    const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService), space);
    EXPECT_EQ(connect(kClient, client, 0x111), 0);
    deliver();
    return client;
  }
  template <class M>
  M last() const {  // message
    return std::get<M>(parse(sent.back().mad)->message);
  }
  Kind kind(std::size_t n) const {
    return std::visit([](const auto& m) { return m.kKind; }, parse(sent.at(n).mad)->message);
  }

  bool loses = false;
  std::vector<Sent> sent, wire;
  std::map<File, int> notified;
  std::map<File, std::size_t> waiting;  // events, as the last retraction says
  std::vector<std::uint8_t> reply;
  Time now{1000};
  Manager manager;
};

TEST_F(ManagerTest, AConnectionIsMadeByThreeMessages) {  // R3
  const std::uint32_t listener = create(kServer, 10);
  ASSERT_EQ(bind(kServer, listener, ipv4_endpoint(0, kService)), 0);
  ASSERT_EQ(listen(kServer, listener), 0);
  const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService));
  ASSERT_EQ(connect(kClient, client, 0x111, "hello"), 0);
  deliver();
  const rdma_ucm_event_resp request = event(kServer);
  EXPECT_EQ(request.event, kConnectRequest);
  EXPECT_EQ(request.uid, 10u) << "of the listener";
  EXPECT_NE(request.id, listener);
  const rdma_ucm_conn_param& p = request.param.conn;
  EXPECT_EQ(p.qp_num, 0x111u);
  EXPECT_EQ(p.private_data_len, 56);
  EXPECT_EQ(std::memcmp(p.private_data, "hello\0", 6), 0);
  EXPECT_EQ(p.responder_resources, 4) << "what the peer begins, this side answers";
  EXPECT_EQ(p.initiator_depth, 3);
  EXPECT_EQ(p.retry_count, 5);
  EXPECT_EQ(p.rnr_retry_count, 6);
  ASSERT_EQ(accept(kServer, request.id, 11, 0x222, "welcome"), 0);
  deliver();
  const rdma_ucm_event_resp response = event(kClient);
  EXPECT_EQ(response.event, kConnectResponse);
  EXPECT_EQ(response.uid, 20u);
  EXPECT_EQ(response.param.conn.qp_num, 0x222u);
  EXPECT_EQ(response.param.conn.private_data_len, 196);
  EXPECT_EQ(std::memcmp(response.param.conn.private_data, "welcome", 8), 0);
  ASSERT_EQ(establish(kClient, client), 0);
  deliver();
  const rdma_ucm_event_resp done = event(kServer);
  EXPECT_EQ(done.event, EventKind::kEstablished);
  EXPECT_EQ(done.uid, 11u) << "of the connection, as accept gave it";
  EXPECT_EQ(done.id, request.id);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(kind(0), Kind::kRequest);
  EXPECT_EQ(kind(1), Kind::kReply);
  EXPECT_EQ(kind(2), Kind::kReady);
  EXPECT_TRUE(quiet(kServer) && quiet(kClient));
}

TEST_F(ManagerTest, AttributesOfTheQpsFitEachOther) {
  const Pair p = connected();
  const auto init = attributes(kClient, p.client, IBV_QPS_INIT);
  EXPECT_EQ(init.qp_attr_mask, unsigned(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  const auto a = attributes(kClient, p.client, IBV_QPS_RTR), b = attributes(kServer, p.server, IBV_QPS_RTR);
  const auto sa = attributes(kClient, p.client, IBV_QPS_RTS), sb = attributes(kServer, p.server, IBV_QPS_RTS);
  EXPECT_EQ(a.dest_qp_num, 0x222u);
  EXPECT_EQ(b.dest_qp_num, 0x111u);
  EXPECT_EQ(a.rq_psn, sb.sq_psn);
  EXPECT_EQ(b.rq_psn, sa.sq_psn);
  EXPECT_NE(a.rq_psn, b.rq_psn);
  EXPECT_EQ(a.path_mtu, unsigned(IBV_MTU_4096));
  EXPECT_EQ(std::memcmp(a.ah_attr.grh.dgid, two_nics()[1].v4.bytes.data(), 16), 0);
  EXPECT_EQ(std::memcmp(b.ah_attr.grh.dgid, two_nics()[0].v4.bytes.data(), 16), 0);
  EXPECT_EQ(a.ah_attr.grh.sgid_index, 2);
  EXPECT_EQ(a.max_dest_rd_atomic, 4) << "the server's initiator_depth";
  EXPECT_EQ(sb.max_rd_atomic, 4);
  EXPECT_EQ(sa.retry_cnt, 5);
  EXPECT_EQ(sa.rnr_retry, 6);
}

TEST_F(ManagerTest, DisconnectsByDreqAndDrep) {  // R3
  const Pair p = connected();
  ASSERT_EQ(disconnect(kClient, p.client), 0);
  deliver();
  EXPECT_EQ(event(kServer).event, kDisconnected);
  EXPECT_TRUE(quiet(kClient)) << "until the peer has answered";
  ASSERT_EQ(disconnect(kServer, p.server), 0);
  deliver();
  EXPECT_EQ(event(kClient).event, kDisconnected);
  EXPECT_EQ(kind(0), Kind::kDisconnect);
  EXPECT_EQ(kind(1), Kind::kDisconnected);
  EXPECT_TRUE(quiet(kServer));
  now += Manager::kTimeWait;
  manager.run_timers(now);
  EXPECT_EQ(event(kClient).event, kTimeWaitExit);
  EXPECT_EQ(event(kServer).event, kTimeWaitExit);
  EXPECT_EQ(disconnect(kServer, p.server), 0) << "once more";
}

TEST_F(ManagerTest, BothDisconnectAtOnce) {  // R3
  const Pair p = connected();
  ASSERT_EQ(disconnect(kClient, p.client), 0);
  ASSERT_EQ(disconnect(kServer, p.server), 0);
  deliver();
  EXPECT_EQ(event(kClient).event, kDisconnected);
  EXPECT_EQ(event(kServer).event, kDisconnected);
}

TEST_F(ManagerTest, ADestroyedIdDisconnects) {  // R5
  const Pair p = connected();
  ASSERT_EQ(destroy(kClient, p.client), 0);
  deliver();
  EXPECT_EQ(event(kServer).event, kDisconnected);
  ASSERT_EQ(destroy(kServer, p.server), 0);
  deliver();
  EXPECT_EQ(destroy(kServer, p.listener), 0);
  now += Manager::kTimeWait;
  manager.run_timers(now);
  EXPECT_EQ(manager.connections(), 0u);
  EXPECT_EQ(manager.ids(), 0u);
}

TEST_F(ManagerTest, AClientThatLeavesTakesItsRequestAlong) {  // R5, R10
  const std::uint32_t listener = listening();
  for (const bool taken : {true, false}) {
    SCOPED_TRACE(taken);
    const std::uint32_t client = requested();
    std::uint32_t server = taken ? event(kServer).id : 0;
    const auto number = last<Request>().local_id;
    ASSERT_EQ(destroy(kClient, client), 0);
    const Reject left = last<Reject>();
    EXPECT_EQ(left.local_id, number);
    EXPECT_EQ(left.remote_id, 0u) << "no REP has come";
    EXPECT_EQ(left.message, 2) << "neither REQ nor REP";
    EXPECT_EQ(left.reason, 4);
    EXPECT_EQ(left.info_length, 8);
    EXPECT_EQ(std::memcmp(left.info.data(), &two_nics()[0].node_guid, 8), 0);
    deliver();
    if (!taken) server = event(kServer).id;
    EXPECT_TRUE(quiet(kServer)) << "it has not accepted";
    sent.clear();
    EXPECT_EQ(accept(kServer, server, 11, 0x222), EINVAL);
    rdma_ucm_reject no{};
    no.id = server;
    EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_REJECT, no), EINVAL);
    EXPECT_EQ(disconnect(kServer, server), 0) << "it is over";
    EXPECT_EQ(destroy(kServer, server), 0);
    EXPECT_TRUE(sent.empty());
    EXPECT_EQ(manager.connections(), 0u);
  }
  EXPECT_EQ(destroy(kServer, listener), 0);
}

TEST_F(ManagerTest, AServerThatHasAcceptedHearsThatItsClientHasLeft) {  // R10
  listening();
  const std::uint32_t client = requested(), server = event(kServer).id;
  loses = true;
  ASSERT_EQ(accept(kServer, server, 11, 0x222), 0);
  loses = false;
  ASSERT_EQ(destroy(kClient, client), 0);
  deliver();
  const rdma_ucm_event_resp e = event(kServer);
  EXPECT_EQ(e.event, kRejected);
  EXPECT_EQ(e.status, 4u);
  EXPECT_EQ(e.id, server);
  EXPECT_EQ(e.uid, 11u);
  EXPECT_FALSE(manager.next_due()) << "REP is not repeated";
}

TEST_F(ManagerTest, ATimeoutIsForThePeerWithItsSendersGuidAndNumber) {  // R6, R10
  listening();
  const std::uint32_t client = requested(), server = event(kServer).id;
  ASSERT_EQ(accept(kServer, server, 11, 0x222), 0);
  loses = true;
  ASSERT_EQ(destroy(kClient, client), 0);
  const Reject good = last<Reject>();
  const auto comes = [&](Reject m, std::uint32_t from = 0) {
    manager.receive(1, two_nics()[from].v4.bytes, write(m, 1), now);
    return !quiet(kServer);
  };
  Reject bad = good;
  bad.info[0] ^= 1;
  EXPECT_FALSE(comes(bad)) << "another GUID";
  bad = good;
  bad.info.fill(0);
  EXPECT_FALSE(comes(bad)) << "no GUID";
  bad = good;
  ++bad.local_id;
  EXPECT_FALSE(comes(bad)) << "another connection of it";
  bad = good;
  bad.reason = 28;
  EXPECT_FALSE(comes(bad)) << "a reason that goes by both numbers";
  EXPECT_FALSE(comes(good, 1)) << "another sender";
  EXPECT_TRUE(comes(good));
}

// Each side at each stage: its peer hears REJECTED with reason 28 at once, and no message is repeated afterwards.
TEST_F(ManagerTest, WhoLeavesAConnectionThatIsNotEstablishedRejectsIt) {  // R5, R10
  listening();
  enum class Stage { kReplyLost, kReplyCame, kReadyLost, kBothLeave };
  struct Row {
    Stage stage;
    bool client_leaves;
  };
  for (const Row& row : {Row{Stage::kReplyLost, false}, Row{Stage::kReplyCame, false}, Row{Stage::kReplyCame, true},
                         Row{Stage::kReadyLost, false}, Row{Stage::kBothLeave, false}}) {
    SCOPED_TRACE(static_cast<int>(row.stage));
    const std::uint32_t client = requested(), server = event(kServer).id;
    loses = row.stage == Stage::kReplyLost;
    ASSERT_EQ(accept(kServer, server, 11, 0x222), 0);
    deliver();
    if (row.stage != Stage::kReplyLost) {
      EXPECT_EQ(event(kClient).event, kConnectResponse);
    }
    if (row.stage >= Stage::kReadyLost) {
      loses = true;
      ASSERT_EQ(establish(kClient, client), 0);
    }
    loses = false;
    if (row.stage == Stage::kBothLeave) {
      ASSERT_EQ(disconnect(kClient, client), 0);
    }
    const auto [leaver, gone] = row.client_leaves ? std::pair{kClient, client} : std::pair{kServer, server};
    const auto [stays, other] = row.client_leaves ? std::pair{kServer, server} : std::pair{kClient, client};
    ASSERT_EQ(destroy(leaver, gone), 0);
    EXPECT_EQ(last<Reject>().reason, 28);
    deliver();
    const rdma_ucm_event_resp e = event(stays);
    EXPECT_EQ(e.event, kRejected);
    EXPECT_EQ(e.status, 28u);
    EXPECT_EQ(e.id, other);
    EXPECT_FALSE(manager.next_due());
    EXPECT_EQ(disconnect(stays, other), 0) << "it is over";
    EXPECT_EQ(destroy(stays, other), 0);
    EXPECT_TRUE(quiet(kServer) && quiet(kClient));
    EXPECT_EQ(manager.connections(), 0u);
  }
}

TEST_F(ManagerTest, ADisconnectIsAnsweredAlsoBeforeAReply) {  // R6
  listening();
  requested();
  const std::uint32_t server = event(kServer).id;
  loses = true;
  ASSERT_EQ(accept(kServer, server, 11, 0x222), 0);
  loses = false;
  ASSERT_EQ(disconnect(kServer, server), 0);
  deliver();
  EXPECT_EQ(event(kServer).event, kDisconnected);
  EXPECT_TRUE(quiet(kClient));
}

TEST_F(ManagerTest, AServerThatLeavesRefusesTheLookup) {  // R5
  listening(RDMA_PS_UDP);
  const std::uint32_t client = requested(RDMA_PS_UDP), server = event(kServer).id;
  ASSERT_EQ(destroy(kServer, server), 0);
  deliver();
  const rdma_ucm_event_resp e = event(kClient);
  EXPECT_EQ(e.event, kUnreachable);
  EXPECT_EQ(e.status, 2u);
  EXPECT_EQ(e.id, client);
  EXPECT_FALSE(manager.next_due());
}

// As with a kernel: SIDR has no message for it.
TEST_F(ManagerTest, AClientThatLeavesALookupSaysNothing) {  // R5
  listening(RDMA_PS_UDP);
  const std::uint32_t client = requested(RDMA_PS_UDP), server = event(kServer).id;
  sent.clear();
  ASSERT_EQ(destroy(kClient, client), 0);
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(accept(kServer, server, 11, 0x222), 0);
  deliver();
  EXPECT_TRUE(quiet(kServer) && quiet(kClient));
  EXPECT_FALSE(manager.next_due());
}

TEST_F(ManagerTest, AFileThatIsClosedTakesItsIdsAlong) {  // R5
  connected();
  EXPECT_FALSE(manager.awaits_answers());
  manager.close(kClient, now);
  EXPECT_TRUE(manager.awaits_answers());
  deliver();
  EXPECT_EQ(event(kServer).event, kDisconnected);
  manager.close(kServer, now);
  deliver();
  EXPECT_FALSE(manager.awaits_answers());
  EXPECT_GT(manager.connections(), 0u) << "their numbers are kept";
  now += Manager::kTimeWait;
  manager.run_timers(now);
  EXPECT_EQ(manager.connections(), 0u);
  EXPECT_EQ(manager.ids(), 0u);
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{}), EBADF);
}

TEST_F(ManagerTest, ARejectedRequestSaysWhy) {
  const std::uint32_t listener = create(kServer, 10);
  ASSERT_EQ(bind(kServer, listener, ipv4_endpoint(0xc6120002, kService)), 0);
  ASSERT_EQ(listen(kServer, listener), 0);
  const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService));
  ASSERT_EQ(connect(kClient, client, 0x111), 0);
  deliver();
  rdma_ucm_reject no{};
  no.id = event(kServer).id;
  no.private_data_len = 3;
  std::memcpy(no.private_data, "no!", 3);
  ASSERT_EQ(command(kServer, RDMA_USER_CM_CMD_REJECT, no), 0);
  deliver();
  const rdma_ucm_event_resp e = event(kClient);
  EXPECT_EQ(e.event, kRejected);
  EXPECT_EQ(e.status, 28u);
  EXPECT_EQ(std::memcmp(e.param.conn.private_data, "no!", 4), 0);
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_REJECT, no), EINVAL) << "it is over";
}

TEST_F(ManagerTest, ARequestThatNobodyListensForIsRejected) {  // R4
  const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService));
  ASSERT_EQ(connect(kClient, client, 0x111), 0);
  deliver();
  const rdma_ucm_event_resp e = event(kClient);
  EXPECT_EQ(e.event, kRejected);
  EXPECT_EQ(e.status, 8u);
  const std::uint32_t datagram = routed(kClient, 21, ipv4_endpoint(0xc6120002, kService), RDMA_PS_UDP);
  ASSERT_EQ(connect(kClient, datagram, 0x111), 0);
  deliver();
  const rdma_ucm_event_resp u = event(kClient);
  EXPECT_EQ(u.event, kUnreachable);
  EXPECT_EQ(u.status, 1u);
}

TEST_F(ManagerTest, MoreRequestsThanTheBacklogAreDroppedAndComeAgain) {  // R3, R4
  const std::uint32_t listener = create(kServer, 10);
  ASSERT_EQ(bind(kServer, listener, ipv4_endpoint(0, kService)), 0);
  ASSERT_EQ(listen(kServer, listener, 1), 0);
  for (std::uint64_t n = 0; n < 2; ++n) {
    ASSERT_EQ(connect(kClient, routed(kClient, 20 + n, ipv4_endpoint(0xc6120002, kService)), 0x111), 0);
  }
  deliver();
  EXPECT_EQ(event(kServer).event, kConnectRequest);
  EXPECT_TRUE(quiet(kServer));
  now += Manager::kResponseTime;
  manager.run_timers(now);
  deliver();
  EXPECT_EQ(event(kServer).event, kConnectRequest);
  EXPECT_TRUE(quiet(kServer)) << "the first one's repetition is no further request";
}

TEST_F(ManagerTest, WhatIsNotAnsweredIsRepeatedAndThenUnreachable) {  // R3
  const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService));
  loses = true;
  ASSERT_EQ(connect(kClient, client, 0x111), 0);
  for (unsigned n = 0; n <= Manager::kRetries; ++n) {
    ASSERT_EQ(sent.size(), n + 1);
    now = *manager.next_due() - Time{1};
    manager.run_timers(now);
    ASSERT_EQ(sent.size(), n + 1) << "not yet";
    now += Time{1};
    manager.run_timers(now);
  }
  EXPECT_EQ(sent.size(), Manager::kRetries + 1);
  const rdma_ucm_event_resp e = event(kClient);
  EXPECT_EQ(e.event, kUnreachable);
  EXPECT_EQ(static_cast<std::int32_t>(e.status), -ETIMEDOUT);
  EXPECT_FALSE(manager.next_due());
}

TEST_F(ManagerTest, LostMessagesAreMadeGood) {  // R3: each of the three in turn
  for (int lost = 0; lost < 3; ++lost) {
    SCOPED_TRACE(lost);
    const std::uint16_t port = static_cast<std::uint16_t>(kService + lost);
    const std::uint32_t listener = create(kServer, 10);
    ASSERT_EQ(bind(kServer, listener, ipv4_endpoint(0, port)), 0);
    ASSERT_EQ(listen(kServer, listener), 0);
    const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, port));
    const auto later = [&] {
      loses = false;
      now += Manager::kResponseTime;
      manager.run_timers(now);
      deliver();
    };
    loses = lost == 0;
    ASSERT_EQ(connect(kClient, client, 0x111), 0);
    deliver();
    if (lost == 0) later();
    const std::uint32_t server = event(kServer).id;
    loses = lost == 1;
    ASSERT_EQ(accept(kServer, server, 11, 0x222), 0);
    deliver();
    if (lost == 1) later();
    ASSERT_EQ(event(kClient).event, kConnectResponse);
    loses = lost == 2;
    ASSERT_EQ(establish(kClient, client), 0);
    deliver();
    if (lost == 2) later();
    EXPECT_EQ(event(kServer).event, EventKind::kEstablished);
    EXPECT_TRUE(quiet(kServer) && quiet(kClient));
  }
}

TEST_F(ManagerTest, DatagramsAskForTheQpOfTheService) {  // R3
  const std::uint32_t listener = create(kServer, 10, RDMA_PS_UDP);
  ASSERT_EQ(bind(kServer, listener, ipv4_endpoint(0, kService)), 0);
  ASSERT_EQ(listen(kServer, listener), 0);
  const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService), RDMA_PS_UDP);
  EXPECT_EQ(attributes(kClient, client, IBV_QPS_INIT).qkey, 0x01234567u);
  ASSERT_EQ(connect(kClient, client, 0x111, "ud"), 0);
  deliver();
  const rdma_ucm_event_resp request = event(kServer);
  EXPECT_EQ(request.event, kConnectRequest);
  EXPECT_EQ(request.param.ud.private_data_len, 180);
  EXPECT_EQ(std::memcmp(request.param.ud.private_data, "ud", 3), 0);
  ASSERT_EQ(accept(kServer, request.id, 11, 0x222, "yes"), 0);
  deliver();
  const rdma_ucm_event_resp e = event(kClient);
  EXPECT_EQ(e.event, EventKind::kEstablished);
  EXPECT_EQ(e.param.ud.qp_num, 0x222u);
  EXPECT_EQ(e.param.ud.qkey, 0x01234567u);
  EXPECT_EQ(std::memcmp(e.param.ud.ah_attr.grh.dgid, two_nics()[1].v4.bytes.data(), 16), 0);
  EXPECT_EQ(std::memcmp(e.param.ud.private_data, "yes", 4), 0);
  EXPECT_TRUE(quiet(kServer));
}

TEST_F(ManagerTest, AddressesAreThoseOfTheNics) {  // R2
  const auto bound = [&](const Endpoint& to) { return bind(kClient, create(kClient, 20), to); };
  EXPECT_EQ(bound(ipv4_endpoint(0xc6120001)), 0);
  EXPECT_EQ(bound(ipv4_endpoint(0)), 0);
  EXPECT_EQ(bound(ipv4_endpoint(0x7f000001)), 0);
  EXPECT_EQ(bound(ipv4_endpoint(0xc6120003)), EADDRNOTAVAIL);
  EXPECT_EQ(bound(ipv4_endpoint(0xc6120002)), ENODEV) << "this file does not see that NIC";
  const std::uint32_t id = create(kClient, 20);
  EXPECT_EQ(resolve(kClient, id, ipv4_endpoint(0xc0a80101, 1)), 0);
  const rdma_ucm_event_resp e = event(kClient);
  EXPECT_EQ(e.event, kAddressError);
  EXPECT_EQ(static_cast<std::int32_t>(e.status), -EHOSTUNREACH);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 1}), EINVAL);
}

TEST_F(ManagerTest, LoopbackIsTheNicOfTheProgram) {  // R2
  const std::uint32_t id = create(kServer, 10);      // sees NIC 1 alone
  ASSERT_EQ(resolve(kServer, id, ipv4_endpoint(0x7f000001, kService)), 0);
  EXPECT_EQ(event(kServer).event, kAddressResolved);
  const rdma_ucm_query_route_resp r = route(kServer, id);
  EXPECT_EQ(r.node_guid, 0x101u);
  EXPECT_EQ(r.port_num, 1);
  EXPECT_EQ(std::memcmp(r.ib_route[0].dgid, two_nics()[1].v4.bytes.data(), 16), 0);
  EXPECT_EQ(std::memcmp(r.ib_route[0].sgid, two_nics()[1].v4.bytes.data(), 16), 0);
}

TEST_F(ManagerTest, AnAddressOfTheHostIsTheNicOfTheProgram) {  // R2
  const std::uint32_t listener = create(kServer, 10);          // sees NIC 1 alone
  ASSERT_EQ(bind(kServer, listener, kHost), 0);
  ASSERT_EQ(listen(kServer, listener), 0);
  manager.open(File{3}, 1);
  const std::uint32_t neighbour = routed(File{3}, 30, kHost);
  ASSERT_EQ(connect(File{3}, neighbour, 5), 0);
  deliver();
  EXPECT_EQ(event(kServer).event, kConnectRequest);
  Endpoint other_port = kHost;
  ++other_port.port;
  const std::uint32_t elsewhere = routed(kClient, 20, other_port);  // NIC 0: nobody listens there
  ASSERT_EQ(connect(kClient, elsewhere, 6), 0);
  deliver();
  EXPECT_EQ(event(kClient).event, kRejected);
}

// A program names a server by an address of the host, and the two see a NIC each.
TEST_F(ManagerTest, AnAddressOfTheHostLeadsToTheNicOfItsListener) {  // R2
  const auto reaches = [&](const Endpoint& to) {
    const std::uint32_t id = routed(kClient, 20, to);
    const std::uint32_t nic =
        std::memcmp(route(kClient, id).ib_route[0].dgid, two_nics()[1].v4.bytes.data(), 16) == 0 ? 1 : 0;
    EXPECT_EQ(connect(kClient, id, 5), 0);
    deliver();
    const bool rejected = !quiet(kClient);
    if (!rejected) {
      EXPECT_EQ(destroy(kServer, event(kServer).id), 0);
      deliver();
    }
    EXPECT_EQ(destroy(kClient, id), 0);
    deliver();
    while (!quiet(kClient)) {
    }
    return std::pair{nic, !rejected};
  };
  const Endpoint loopback = ipv4_endpoint(0x7f000001, kService);
  for (const Endpoint& bound : {ipv4_endpoint(0, kService), loopback, kHost}) {
    const std::uint32_t listener = create(kServer, 10);  // sees NIC 1 alone
    ASSERT_EQ(bind(kServer, listener, bound), 0);
    EXPECT_EQ(reaches(loopback), (std::pair{0u, false})) << "nobody listens yet";
    ASSERT_EQ(listen(kServer, listener), 0);
    EXPECT_EQ(reaches(loopback), (std::pair{1u, true}));
    EXPECT_EQ(reaches(kHost), (std::pair{1u, true}));
    ASSERT_EQ(destroy(kServer, listener), 0);
  }
  const std::uint32_t of_nic = create(kServer, 10);
  ASSERT_EQ(bind(kServer, of_nic, ipv4_endpoint(0xc6120002, kService)), 0);
  ASSERT_EQ(listen(kServer, of_nic), 0);
  EXPECT_EQ(reaches(loopback), (std::pair{0u, false})) << "it listens at the NIC's address alone";
  manager.open(File{3}, {});  // sees both: the first one is as good
  const std::uint32_t everywhere = create(File{3}, 11);
  ASSERT_EQ(bind(File{3}, everywhere, ipv4_endpoint(0, kService + 1)), 0);
  ASSERT_EQ(listen(File{3}, everywhere), 0);
  const std::uint32_t id = routed(kClient, 20, ipv4_endpoint(0x7f000001, kService + 1));
  ASSERT_EQ(connect(kClient, id, 5), 0);
  deliver();
  EXPECT_EQ(sent.front().to, two_nics()[0].v4.bytes);
  EXPECT_EQ(event(File{3}).event, kConnectRequest);
}

// As with a kernel: libfabric binds what the host's name stands for, often 127.0.0.1. It lists only the NIC of the ID,
// when the ID is of one.
TEST_F(ManagerTest, ALoopbackAddressBindsToNoNicInParticular) {  // R2
  const auto nic_of = [&](const Endpoint& bound) {
    const std::uint32_t id = create(kClient, 20);
    EXPECT_EQ(bind(kClient, id, bound), 0);
    const auto node = route(kClient, id).node_guid;
    EXPECT_EQ(destroy(kClient, id), 0);
    return node;
  };
  EXPECT_EQ(nic_of(ipv4_endpoint(0x7f000001, kService)), 0u);
  EXPECT_EQ(nic_of(ipv4_endpoint(0, kService)), 0u);
  EXPECT_NE(nic_of(kHost), 0u);
  EXPECT_NE(nic_of(ipv4_endpoint(0xc6120001, kService)), 0u);
}

TEST_F(ManagerTest, AddressesOfInfiniBandAreRefused) {  // R2
  constexpr std::uint16_t kFamily = 27;                 // AF_IB
  rdma_ucm_bind b{};
  b.id = create(kClient, 20);
  b.addr_size = 48;  // sizeof(sockaddr_ib)
  std::memcpy(&b.addr, &kFamily, sizeof kFamily);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_BIND, b), EAFNOSUPPORT);
  rdma_ucm_resolve_addr r{};
  r.id = b.id;
  r.dst_size = b.addr_size;
  std::memcpy(&r.dst_addr, &kFamily, sizeof kFamily);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_RESOLVE_ADDR, r), EAFNOSUPPORT);
}

TEST_F(ManagerTest, EachFamilyHasItsPortsWhenAProgramSaysSo) {  // R2; tgtd listens at 0.0.0.0 and at ::
  Endpoint any6;
  any6.known = true;
  any6.port = kService;
  const auto listens = [&](const Endpoint& at, bool one_family) {
    const std::uint32_t id = create(kServer, 10);
    if (one_family) {
      EXPECT_EQ(set_option(kServer, id, RDMA_OPTION_ID_AFONLY, 1), 0);
    }
    const int error = bind(kServer, id, at);
    return error != 0 ? error : listen(kServer, id);
  };
  EXPECT_EQ(listens(any6, true), 0);
  const std::uint32_t client = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService));
  ASSERT_EQ(connect(kClient, client, 5), 0);
  deliver();
  EXPECT_EQ(event(kClient).event, kRejected) << "no request over IPv4";
  EXPECT_EQ(listens(ipv4_endpoint(0, kService), false), 0);
  any6.port = kService + 1;
  EXPECT_EQ(listens(any6, false), 0);
  EXPECT_EQ(listens(ipv4_endpoint(0, kService + 1), true), EADDRNOTAVAIL);
  const std::uint32_t next = routed(kClient, 21, ipv4_endpoint(0xc6120002, kService + 1));
  ASSERT_EQ(connect(kClient, next, 6), 0);
  deliver();
  EXPECT_EQ(event(kServer).event, kConnectRequest) << "over both";
}

TEST_F(ManagerTest, TheAckTimeoutIsOfOneSide) {
  const Pair p = connected();
  const std::uint32_t before = attributes(kClient, p.client, IBV_QPS_RTS).timeout;
  EXPECT_EQ(set_option(kClient, p.client, RDMA_OPTION_ID_ACK_TIMEOUT, std::uint8_t{7}), 0);
  EXPECT_NE(before, 7u);
  EXPECT_EQ(attributes(kClient, p.client, IBV_QPS_RTS).timeout, 7);
  EXPECT_EQ(attributes(kServer, p.server, IBV_QPS_RTS).timeout, before);
  EXPECT_EQ(set_option(kClient, p.client, RDMA_OPTION_ID_ACK_TIMEOUT, 7), EINVAL) << "four bytes";
}

TEST_F(ManagerTest, AConnectionKeepsNobodyFromItsListenersPort) {  // perftest -R listens anew with the first one open
  const Pair p = connected();
  const std::uint32_t next = create(kServer, 30);
  EXPECT_EQ(bind(kServer, next, ipv4_endpoint(0, kService)), EADDRNOTAVAIL);
  EXPECT_EQ(destroy(kServer, p.listener), 0);
  EXPECT_EQ(bind(kServer, next, ipv4_endpoint(0, kService)), 0);
  EXPECT_EQ(listen(kServer, next), 0);
}

TEST_F(ManagerTest, IdsOfOnePortExcludeEachOtherAsInAKernel) {  // R11
  enum class AfOnly { kUnset, kOff, kOn };
  struct Bound {
    Endpoint to;
    AfOnly option = AfOnly::kUnset;
  };
  const auto bound = [&](const Bound& b, std::uint16_t space = RDMA_PS_TCP) {
    const std::uint32_t id = create(kClient, 20, space);
    if (b.option != AfOnly::kUnset) {
      EXPECT_EQ(set_option(kClient, id, RDMA_OPTION_ID_AFONLY, b.option == AfOnly::kOn ? 1 : 0), 0);
    }
    const int error = bind(kClient, id, b.to);
    return std::pair{id, error};
  };
  const Endpoint any4 = ipv4_endpoint(0, kService), loopback = ipv4_endpoint(0x7f000001, kService);
  const Endpoint of_nic4 = ipv4_endpoint(0xc6120001, kService);
  Endpoint any6, of_nic6, mapped = of_nic4;
  any6.known = of_nic6.known = true;
  any6.port = of_nic6.port = kService;
  of_nic6.ip = two_nics()[0].v6.bytes;
  mapped.v4 = false;
  struct Row {
    Bound first, second;
    int error;
  };
  const std::array rows{
      Row{{of_nic4}, {of_nic4}, EADDRINUSE},
      Row{{of_nic4}, {kHost}, 0},
      Row{{of_nic4}, {any4}, EADDRNOTAVAIL},
      Row{{of_nic4}, {loopback}, EADDRNOTAVAIL},  // a loopback address is any
      Row{{any4}, {any4}, EADDRNOTAVAIL},
      Row{{of_nic6}, {of_nic6}, EADDRINUSE},
      Row{{of_nic6}, {any6}, EADDRNOTAVAIL},
      Row{{any6}, {any6}, EADDRNOTAVAIL},
      Row{{of_nic4}, {of_nic6}, 0},
      Row{{of_nic4}, {mapped}, 0},  // another family
      Row{{of_nic4}, {any6}, EADDRNOTAVAIL},
      Row{{of_nic6}, {any4}, EADDRNOTAVAIL},
      Row{{any4}, {any6}, EADDRNOTAVAIL},
      Row{{any4}, {any6, AfOnly::kOff}, EADDRNOTAVAIL},
      Row{{any4}, {any6, AfOnly::kOn}, 0},
      Row{{of_nic4}, {any6, AfOnly::kOn}, 0},
      Row{{any4, AfOnly::kOn}, {any6, AfOnly::kOn}, 0},
      Row{{any4, AfOnly::kOff}, {any6, AfOnly::kOn}, EADDRNOTAVAIL},
      Row{{of_nic4, AfOnly::kOff}, {any6, AfOnly::kOn}, EADDRNOTAVAIL},
      Row{{of_nic4, AfOnly::kOff}, {of_nic6, AfOnly::kOn}, 0},
  };
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (const bool forwards : {true, false}) {
      SCOPED_TRACE(std::to_string(n) + (forwards ? " forwards" : " backwards"));
      const auto [first, free] = bound(forwards ? rows[n].first : rows[n].second);
      const auto [second, error] = bound(forwards ? rows[n].second : rows[n].first);
      EXPECT_EQ(free, 0);
      EXPECT_EQ(error, rows[n].error);
      const auto [elsewhere, other_space] = bound(rows[n].first, RDMA_PS_UDP);
      EXPECT_EQ(other_space, 0);
      for (const std::uint32_t id : {first, second, elsewhere}) EXPECT_EQ(destroy(kClient, id), 0);
    }
  }
}

TEST_F(ManagerTest, TheIdThatWasBoundLastSaysWhyAPortIsTaken) {  // R11
  const Endpoint any = ipv4_endpoint(0, kService), of_nic = ipv4_endpoint(0xc6120001, kService);
  for (const bool any_last : {true, false}) {
    std::array<std::uint32_t, 2> ids{create(kClient, 20), create(kClient, 20)};
    for (const std::uint32_t id : ids) ASSERT_EQ(set_option(kClient, id, RDMA_OPTION_ID_REUSEADDR, 1), 0);
    ASSERT_EQ(bind(kClient, ids[any_last], any_last ? of_nic : any), 0);
    ASSERT_EQ(bind(kClient, ids[!any_last], any_last ? any : of_nic), 0);
    const std::uint32_t next = create(kClient, 20);
    EXPECT_EQ(bind(kClient, next, of_nic), any_last ? EADDRNOTAVAIL : EADDRINUSE);
    for (const std::uint32_t id : {ids[0], ids[1], next}) EXPECT_EQ(destroy(kClient, id), 0);
  }
}

TEST_F(ManagerTest, AListenerIsAloneAtItsPort) {  // R12
  const auto shares = [&](const Endpoint& to) {
    const std::uint32_t id = create(kClient, 20);
    EXPECT_EQ(set_option(kClient, id, RDMA_OPTION_ID_REUSEADDR, 1), 0);
    return std::pair{id, bind(kClient, id, to)};
  };
  for (const bool any : {true, false}) {
    SCOPED_TRACE(any);
    const Endpoint at = ipv4_endpoint(any ? 0 : 0xc6120001, kService);
    const int taken = any ? EADDRNOTAVAIL : EADDRINUSE;
    const auto [a, a_bound] = shares(at);
    const auto [b, b_bound] = shares(at);
    EXPECT_EQ(a_bound, 0);
    EXPECT_EQ(b_bound, 0);
    EXPECT_EQ(listen(kClient, a), taken) << "the other one is bound";
    EXPECT_EQ(listen(kClient, b), taken);
    EXPECT_EQ(destroy(kClient, b), 0);
    EXPECT_EQ(listen(kClient, a), 0);
    EXPECT_EQ(listen(kClient, a), EINVAL) << "it listens";
    const auto [c, c_bound] = shares(at);
    EXPECT_EQ(c_bound, taken) << "a listener does not share";
    EXPECT_EQ(destroy(kClient, a), 0);
    EXPECT_EQ(bind(kClient, c, at), 0);
    EXPECT_EQ(listen(kClient, c), 0);
    EXPECT_EQ(destroy(kClient, c), 0);
  }
}

TEST_F(ManagerTest, OptionsOfPortsAreTakenInTime) {  // R12
  const auto reuse = [&](std::uint32_t id, int on) { return set_option(kClient, id, RDMA_OPTION_ID_REUSEADDR, on); };
  const auto afonly = [&](std::uint32_t id) { return set_option(kClient, id, RDMA_OPTION_ID_AFONLY, 1); };
  const std::uint32_t id = create(kClient, 20);
  for (const int on : {1, 0}) EXPECT_EQ(reuse(id, on), 0) << "not bound yet";
  ASSERT_EQ(bind(kClient, id, ipv4_endpoint(0, kService)), 0);
  EXPECT_EQ(afonly(id), 0);
  EXPECT_EQ(reuse(id, 1), 0);
  EXPECT_EQ(reuse(id, 0), EINVAL);
  ASSERT_EQ(listen(kClient, id), 0);
  for (const int on : {1, 0}) EXPECT_EQ(reuse(id, on), EINVAL) << "it listens";
  EXPECT_EQ(afonly(id), EINVAL);
  const std::uint32_t client = routed(kClient, 21, ipv4_endpoint(0xc6120002, kService));
  EXPECT_EQ(reuse(client, 1), 0);
  EXPECT_EQ(afonly(client), EINVAL);
}

TEST_F(ManagerTest, APortIsThatOfTheSourceAlsoAtAnyAddress) {  // R2, R11
  const auto resolves = [&](std::uint32_t id) {
    rdma_ucm_resolve_addr c{};
    c.id = id;
    c.src_size = c.dst_size = sizeof(sockaddr_in);
    put(ipv4_endpoint(0, 7000), c.src_addr);
    put(ipv4_endpoint(0xc6120002, kService), c.dst_addr);
    return command(kClient, RDMA_USER_CM_CMD_RESOLVE_ADDR, c);
  };
  const std::uint32_t id = create(kClient, 20);
  ASSERT_EQ(resolves(id), 0);
  const sockaddr_in in = source(kClient, id);
  EXPECT_EQ(ntohs(in.sin_port), 7000);
  EXPECT_EQ(ntohl(in.sin_addr.s_addr), 0xc6120001u) << "of the NIC that it leaves by";
  EXPECT_EQ(resolves(create(kClient, 21)), EADDRNOTAVAIL);
}

TEST_F(ManagerTest, APortHasOneListener) {
  const auto bound = [&](const Endpoint& to, bool reuses = false) {
    const std::uint32_t id = create(kClient, 20);
    if (reuses) {
      EXPECT_EQ(set_option(kClient, id, RDMA_OPTION_ID_REUSEADDR, 1), 0);
    }
    return bind(kClient, id, to);
  };
  EXPECT_EQ(bound(ipv4_endpoint(0, kService), true), 0);
  EXPECT_EQ(bound(ipv4_endpoint(0, kService)), EADDRNOTAVAIL);
  EXPECT_EQ(bound(ipv4_endpoint(0xc6120001, kService)), EADDRNOTAVAIL);
  EXPECT_EQ(bound(ipv4_endpoint(0xc6120001, kService + 1)), 0);
  EXPECT_EQ(bound(ipv4_endpoint(0, kService), true), 0);
  std::set<int> ports;
  for (int n = 0; n < 100; ++n) {
    const std::uint32_t id = create(kClient, 20);
    ASSERT_EQ(bind(kClient, id, ipv4_endpoint(0)), 0);
    const std::uint16_t port = ntohs(source(kClient, id).sin_port);
    EXPECT_GE(port, 32768);
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 100u);
}

TEST_F(ManagerTest, AFileSeesItsOwnIdsAlone) {  // R1
  const std::uint32_t id = create(kServer, 10);
  EXPECT_EQ(listen(kClient, id), EINVAL);
  EXPECT_EQ(listen(kClient, id + 100), ENOENT);
  EXPECT_EQ(destroy(kClient, id), EINVAL);
  EXPECT_EQ(command(kClient, 99, rdma_ucm_listen{}), EINVAL);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_GET_OPTION, rdma_ucm_listen{}), ENOSYS);
}

TEST_F(ManagerTest, AReplyHasRoomOrTheCommandDoesNothing) {  // R1
  rdma_ucm_create_id c{};
  c.ps = RDMA_PS_TCP;
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_CREATE_ID, c, 3), ENOSPC);
  EXPECT_EQ(manager.ids(), 0u);
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_CREATE_ID, c, 4), 0);
  EXPECT_EQ(manager.ids(), 1u);
  rdma_ucm_query q{};
  q.id = replied<rdma_ucm_create_id_resp>().id;
  q.option = RDMA_USER_CM_QUERY_ADDR;
  constexpr std::size_t kOldReply = offsetof(rdma_ucm_query_addr_resp, ibdev_index);
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_QUERY, q, kOldReply - 1), ENOSPC);
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_QUERY, q, kOldReply), 0);
  EXPECT_EQ(reply.size(), kOldReply);
}

TEST_F(ManagerTest, AnIdCountsTheEventsThatWereTaken) {
  const std::uint32_t id = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService));
  EXPECT_EQ(notified[kClient], 2);
  ASSERT_EQ(destroy(kClient, id), 0);
  EXPECT_EQ(replied<rdma_ucm_destroy_id_resp>().events_reported, 2u);
  const std::uint32_t other = create(kClient, 21);
  ASSERT_EQ(resolve(kClient, other, ipv4_endpoint(0xc6120002)), 0);
  ASSERT_EQ(destroy(kClient, other), 0);
  EXPECT_EQ(replied<rdma_ucm_destroy_id_resp>().events_reported, 0u);
  EXPECT_TRUE(quiet(kClient)) << "its events went with it";
  EXPECT_EQ(waiting.at(kClient), 0u);
  const std::uint32_t kept = create(kClient, 22), goes = create(kClient, 23);
  for (const std::uint32_t one : {kept, goes}) ASSERT_EQ(resolve(kClient, one, ipv4_endpoint(0xc6120002)), 0);
  ASSERT_EQ(destroy(kClient, goes), 0);
  EXPECT_EQ(waiting.at(kClient), 1u);
  EXPECT_EQ(event(kClient).id, kept);
  EXPECT_EQ(waiting.at(kClient), 0u);
}

TEST_F(ManagerTest, ARouteIsResolvedOnce) {  // R9
  const Endpoint to = ipv4_endpoint(0xc6120002, kService);
  const std::uint32_t id = routed(kClient, 20, to);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}), EINVAL);
  EXPECT_EQ(resolve(kClient, id, to), EINVAL);
  EXPECT_TRUE(quiet(kClient)) << "no further event";
  const Pair p = connected();
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{p.server, 2000}), EINVAL);
  EXPECT_TRUE(quiet(kServer)) << "an ID that came with a request has its route";
}

TEST_F(ManagerTest, FailuresThatAreNotTakenAreBounded) {  // R9
  const Endpoint nobody = ipv4_endpoint(0xc61200ff), somebody = ipv4_endpoint(0xc6120002);
  const std::uint32_t id = create(kClient, 20), other = create(kClient, 21);
  for (std::uint32_t n = 0; n < Manager::kMostErrors; ++n) ASSERT_EQ(resolve(kClient, id, nobody), 0) << n;
  EXPECT_EQ(resolve(kClient, id, nobody), ENOMEM);
  EXPECT_EQ(notified[kClient], static_cast<int>(Manager::kMostErrors));
  EXPECT_EQ(resolve(kClient, other, nobody), 0) << "another ID";
  EXPECT_EQ(event(kClient).event, kAddressError);
  EXPECT_EQ(resolve(kClient, id, nobody), 0) << "one was taken";
  EXPECT_EQ(resolve(kClient, id, somebody), ENOMEM);
  EXPECT_EQ(event(kClient).event, kAddressError);
  EXPECT_EQ(resolve(kClient, id, somebody), 0);
}

TEST_F(ManagerTest, AnIdMovesToAnotherFileWithItsEvents) {
  const File third{3};
  manager.open(third, {});
  const std::uint32_t id = create(kClient, 20);
  ASSERT_EQ(resolve(kClient, id, ipv4_endpoint(0xc6120002)), 0);
  rdma_ucm_migrate_id c{};
  c.id = id;
  c.fd = static_cast<std::uint32_t>(kClient);
  ASSERT_EQ(command(third, RDMA_USER_CM_CMD_MIGRATE_ID, c), 0);
  EXPECT_TRUE(quiet(kClient));
  EXPECT_EQ(waiting.at(kClient), 0u);
  EXPECT_EQ(event(third).id, id);
  EXPECT_EQ(notified[third], 1);
  EXPECT_EQ(destroy(kClient, id), EINVAL);
  EXPECT_EQ(destroy(third, id), 0);
}

TEST_F(ManagerTest, PrivateDataThatDoesNotFitIsRefused) {  // R7
  const auto all_of = [](std::size_t n) { return std::string(n, 'x'); };
  const auto reject_with = [&](std::uint32_t id, std::size_t n) {
    rdma_ucm_reject c{};
    c.id = id;
    c.private_data_len = static_cast<std::uint8_t>(n);
    return command(kServer, RDMA_USER_CM_CMD_REJECT, c);
  };
  struct Row {
    std::uint16_t space;
    std::size_t connect, accept, reject;
  };
  for (const Row& row : {Row{RDMA_PS_TCP, 56, 196, 148}, Row{RDMA_PS_UDP, 180, 136, 136}}) {
    const std::uint32_t listener = create(kServer, 1, row.space);
    ASSERT_EQ(bind(kServer, listener, ipv4_endpoint(0, kService)), 0);
    ASSERT_EQ(listen(kServer, listener), 0);
    for (const bool accepts : {true, false}) {
      const std::uint32_t id = routed(kClient, 20, ipv4_endpoint(0xc6120002, kService), row.space);
      sent.clear();
      for (const std::size_t more : {row.connect + 1, std::size_t{255}}) {
        EXPECT_EQ(connect(kClient, id, 5, all_of(more).c_str()), EINVAL);
      }
      EXPECT_TRUE(sent.empty());
      ASSERT_EQ(connect(kClient, id, 5, all_of(row.connect).c_str()), 0);
      deliver();
      const std::uint32_t passive = event(kServer).id;
      sent.clear();
      EXPECT_EQ(accept(kServer, passive, 2, 6, all_of(row.accept + 1).c_str()), EINVAL);
      EXPECT_EQ(reject_with(passive, row.reject + 1), EINVAL);
      EXPECT_TRUE(sent.empty());
      if (accepts) {
        EXPECT_EQ(accept(kServer, passive, 2, 6, all_of(row.accept).c_str()), 0);
      } else {
        EXPECT_EQ(reject_with(passive, row.reject), 0);
      }
      deliver();
      event(kClient);
      EXPECT_TRUE(quiet(kClient));
      for (const auto& [file, one] : {std::pair{kClient, id}, std::pair{kServer, passive}}) destroy(file, one);
      deliver();
    }
    destroy(kServer, listener);
  }
}

TEST_F(ManagerTest, AProgramHasABoundOfIdsAndGroups) {  // R8
  const File third{3};
  manager.open(third, {});
  rdma_ucm_create_id c{};
  c.ps = RDMA_PS_TCP;
  const std::uint32_t first = routed(kClient, 20, ipv4_endpoint(0xc6120002), RDMA_PS_UDP);
  for (long n = 1; n < Manager::kMostOfProgram; ++n) {
    ASSERT_EQ(command(kClient, RDMA_USER_CM_CMD_CREATE_ID, c), 0) << n;
  }
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_CREATE_ID, c), ENOMEM);
  rdma_ucm_join_mcast group{};
  group.id = first;
  group.addr_size = sizeof(sockaddr_in);
  put(ipv4_endpoint(0xe1000105), group.addr);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_JOIN_MCAST, group), ENOMEM);
  const std::uint32_t other = create(third, 21);
  rdma_ucm_migrate_id move{};
  move.id = other;
  move.fd = static_cast<std::uint32_t>(third);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_MIGRATE_ID, move), ENOMEM);
  move.id = first;
  move.fd = static_cast<std::uint32_t>(kClient);
  EXPECT_EQ(command(third, RDMA_USER_CM_CMD_MIGRATE_ID, move), 0);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_CREATE_ID, c), 0) << "one has gone";
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_CREATE_ID, c), ENOMEM);
  EXPECT_EQ(command(third, RDMA_USER_CM_CMD_JOIN_MCAST, group), 0);
  manager.close(kClient, now);
  EXPECT_EQ(manager.ids(), 2u);
}

TEST_F(ManagerTest, AProgramHasItsBoundHoweverManyFilesItOpens) {  // R8
  constexpr std::uint64_t kProgram = 77;
  rdma_ucm_create_id c{};
  c.ps = RDMA_PS_TCP;
  long made = 0;
  for (std::uint32_t file = 10; file < 14; ++file) {
    manager.open(File{file}, {}, kProgram);
    while (command(File{file}, RDMA_USER_CM_CMD_CREATE_ID, c) == 0) ++made;
  }
  EXPECT_EQ(made, Manager::kMostOfProgram);
  manager.open(File{20}, {}, kProgram + 1);
  EXPECT_EQ(command(File{20}, RDMA_USER_CM_CMD_CREATE_ID, c), 0) << "another program's";
  for (std::uint32_t file = 10; file < 13; ++file) manager.close(File{file}, now);
  EXPECT_EQ(command(File{13}, RDMA_USER_CM_CMD_CREATE_ID, c), 0) << "those of its other files have gone";
}

TEST_F(ManagerTest, AllFilesTogetherHaveABoundOfIds) {  // R8
  rdma_ucm_create_id c{};
  c.ps = RDMA_PS_TCP;
  long made = 0;
  for (std::uint32_t file = 10; file < 15; ++file) {
    manager.open(File{file}, {});
    while (command(File{file}, RDMA_USER_CM_CMD_CREATE_ID, c) == 0) ++made;
  }
  EXPECT_EQ(made, Manager::kMost);
  manager.close(File{10}, now);
  EXPECT_EQ(command(File{14}, RDMA_USER_CM_CMD_CREATE_ID, c), 0);
}

TEST_F(ManagerTest, ARequestThatFindsNoRoomForItsIdIsDroppedAndComesAgain) {  // R8
  const std::uint32_t listener = create(kServer, 10);
  ASSERT_EQ(bind(kServer, listener, ipv4_endpoint(0, kService)), 0);
  ASSERT_EQ(listen(kServer, listener, 10), 0);
  std::uint32_t last = 0;
  for (long n = 1; n < Manager::kMostOfProgram; ++n) last = create(kServer, 11);
  ASSERT_EQ(connect(kClient, routed(kClient, 20, ipv4_endpoint(0xc6120002, kService)), 0x111), 0);
  deliver();
  EXPECT_TRUE(quiet(kServer));
  ASSERT_EQ(destroy(kServer, last), 0);
  now += Manager::kResponseTime;
  manager.run_timers(now);
  deliver();
  EXPECT_EQ(event(kServer).event, kConnectRequest);
}

TEST_F(ManagerTest, AGroupIsItsAddress) {
  const std::uint32_t id = routed(kClient, 20, ipv4_endpoint(0xc6120002), RDMA_PS_UDP);
  rdma_ucm_join_mcast c{};
  c.id = id;
  c.uid = 30;
  c.addr_size = sizeof(sockaddr_in);
  put(ipv4_endpoint(0xe1000105), c.addr);
  ASSERT_EQ(command(kClient, RDMA_USER_CM_CMD_JOIN_MCAST, c), 0);
  const std::uint32_t group = replied<rdma_ucm_create_id_resp>().id;
  const rdma_ucm_event_resp e = event(kClient);
  EXPECT_EQ(e.event, kMulticastJoin);
  EXPECT_EQ(e.uid, 30u);
  EXPECT_EQ(e.id, group);
  EXPECT_EQ(e.param.ud.qp_num, 0xffffffu);
  EXPECT_EQ(e.param.ud.qkey, 0x01234567u);
  EXPECT_EQ(std::memcmp(e.param.ud.ah_attr.grh.dgid, ipv4_endpoint(0xe1000105).ip.data(), 16), 0);
  rdma_ucm_destroy_id leave{};
  leave.id = group;
  EXPECT_EQ(command(kServer, RDMA_USER_CM_CMD_LEAVE_MCAST, leave), EINVAL);
  ASSERT_EQ(command(kClient, RDMA_USER_CM_CMD_LEAVE_MCAST, leave), 0);
  EXPECT_EQ(replied<rdma_ucm_destroy_id_resp>().events_reported, 1u);
  EXPECT_EQ(command(kClient, RDMA_USER_CM_CMD_LEAVE_MCAST, leave), ENOENT);
  ASSERT_EQ(command(kClient, RDMA_USER_CM_CMD_JOIN_MCAST, c), 0);
  leave.id = replied<rdma_ucm_create_id_resp>().id;
  waiting[kClient] = 1;
  ASSERT_EQ(command(kClient, RDMA_USER_CM_CMD_LEAVE_MCAST, leave), 0);
  EXPECT_EQ(waiting.at(kClient), 0u) << "nobody has read that it was joined";
  EXPECT_TRUE(quiet(kClient));
}

// Random commands of two files, random MADs, and those of the manager with changed bytes: nothing fails, and a
// connection that is made afterwards works.
TEST_F(ManagerTest, WhatComesAtRandomHurtsNobody) {  // R6
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return random() % n; };
  std::uint64_t done = 0;
  std::uint32_t last = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::array<std::uint8_t, 640> body{};
    if (below(2) == 0) {
      for (auto& byte : body) byte = static_cast<std::uint8_t>(random());
    }
    std::uint32_t number = below(30);
    const std::uint32_t id = last > 30 ? last - below(34) : below(34);
    if (number == RDMA_USER_CM_CMD_DESTROY_ID && below(8) != 0) number = RDMA_USER_CM_CMD_GET_EVENT;
    for (const std::size_t place : {0u, 8u, 24u, 32u, 56u, 280u, 284u}) {
      if (below(2) == 0) std::memcpy(body.data() + place, &id, sizeof id);
    }
    if (number == RDMA_USER_CM_CMD_CREATE_ID) {
      const std::uint16_t space = below(3) == 0 ? RDMA_PS_UDP : RDMA_PS_TCP;
      std::memcpy(body.data() + offsetof(rdma_ucm_create_id, ps), &space, sizeof space);
    }
    for (const std::size_t place : {8u, 16u, 144u}) {  // addresses of the commands that have some
      const Endpoint to =
          ipv4_endpoint(below(4) == 0 ? 0 : 0xc6120001 + below(2), static_cast<std::uint16_t>(below(3)));
      if (number != RDMA_USER_CM_CMD_CREATE_ID && below(2) == 0) write_sockaddr(to, std::span(body).subspan(place));
    }
    const File file = below(2) == 0 ? kServer : kClient;
    const bool carried_out =
        manager.command(file, number, std::span(body).first(400 + below(241)), below(1025), now, reply) == 0;
    done += carried_out;
    if (carried_out && number == RDMA_USER_CM_CMD_CREATE_ID) last = replied<rdma_ucm_create_id_resp>().id;
    if (!sent.empty() && below(4) == 0) {
      Sent s = sent[below(static_cast<std::uint32_t>(sent.size()))];
      for (std::uint32_t n = below(4); n > 0; --n) s.mad[below(256)] = static_cast<std::uint8_t>(random());
      wire.push_back(s);
    }
    if (sent.size() > 200) sent.clear();
    if (below(16) == 0) deliver();
    if (below(200) == 0) manager.run_timers(now += Manager::kResponseTime);
  }
  EXPECT_GT(done, 1000u);
  manager.close(kServer, now);
  manager.close(kClient, now);
  deliver();
  for (unsigned n = 0; n <= Manager::kRetries + 1; ++n) manager.run_timers(now += Manager::kResponseTime);
  EXPECT_EQ(manager.ids(), 0u);
  EXPECT_EQ(manager.connections(), 0u);
  manager.open(kServer, 1);
  manager.open(kClient, 0);
  connected();
}

}  // namespace
}  // namespace rxnic::cm::manager_test
