// SPDX-License-Identifier: Apache-2.0
// What rdma_cm refuses and forgets, by the system's librdmacm: private data that does not fit its message, events of an
// ID that is gone. Data over rsockets that are waited for by rselect. Server and client in one program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <sys/select.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <vector>

#include "testbench/live/verbs_world.h"

namespace rxnic::live {
namespace {

struct IdFreer {
  void operator()(rdma_event_channel* p) const { rdma_destroy_event_channel(p); }
  void operator()(rdma_cm_id* p) const {
    if (p->qp != nullptr) rdma_destroy_qp(p);
    rdma_destroy_id(p);
  }
};
using Channel = std::unique_ptr<rdma_event_channel, IdFreer>;
using Id = std::unique_ptr<rdma_cm_id, IdFreer>;

bool can_be_read(int fd, int patience_ms) {
  pollfd ready{fd, POLLIN, 0};
  return poll(&ready, 1, patience_ms) == 1;
}

// The outcome of a call of librdmacm: 0 or its errno.
int outcome(int result) { return result == 0 ? 0 : errno; }

class ConnectionRules : public testing::TestWithParam<rdma_port_space> {
 protected:
  struct Event {
    rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_ERROR;
    rdma_cm_id* id = nullptr;
    std::uint8_t private_bytes = 0;
  };
  // The next event, acknowledged.
  Event take(const Channel& channel) const {
    if (!can_be_read(channel->fd, static_cast<int>(std::chrono::milliseconds(Patience::current()).count()))) {
      throw std::runtime_error("no event of rdma_cm came");
    }
    rdma_cm_event* event = nullptr;
    must(outcome(rdma_get_cm_event(channel.get(), &event)), "rdma_get_cm_event");
    const Event found{event->event, event->id,
                      datagrams() ? event->param.ud.private_data_len : event->param.conn.private_data_len};
    must(outcome(rdma_ack_cm_event(event)), "rdma_ack_cm_event");
    return found;
  }
  bool datagrams() const { return GetParam() == RDMA_PS_UDP; }
  Id make_id(const Channel& channel) const {
    rdma_cm_id* id = nullptr;
    must(outcome(rdma_create_id(channel.get(), &id, nullptr, GetParam())), "rdma_create_id");
    return Id(id);
  }
  void listen() {
    listener = make_id(of_server);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    must(outcome(rdma_bind_addr(listener.get(), reinterpret_cast<sockaddr*>(&any))), "rdma_bind_addr");
    must(outcome(rdma_listen(listener.get(), 4)), "rdma_listen");
  }
  sockaddr_in server_address() const {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = listener == nullptr ? 0 : rdma_get_src_port(listener.get());
    const ibv_gid gid = World(0).gid(2);  // ::ffff:a.b.c.d
    std::memcpy(&to.sin_addr, gid.raw + 12, 4);
    return to;
  }
  // An ID with its QP that may connect.
  Id ready_client() {
    Id id = make_id(of_client);
    sockaddr_in to = server_address();
    must(outcome(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 2000)), "rdma_resolve_addr");
    EXPECT_EQ(take(of_client).type, RDMA_CM_EVENT_ADDR_RESOLVED);
    must(outcome(rdma_resolve_route(id.get(), 2000)), "rdma_resolve_route");
    EXPECT_EQ(take(of_client).type, RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_qp(*id);
    return id;
  }
  void make_qp(rdma_cm_id& id) const {
    ibv_qp_init_attr init{};
    init.cap = {4, 4, 1, 1, 0};
    init.qp_type = datagrams() ? IBV_QPT_UD : IBV_QPT_RC;
    must(outcome(rdma_create_qp(&id, nullptr, &init)), "rdma_create_qp");
  }
  rdma_conn_param param(std::size_t bytes) {
    rdma_conn_param p{};
    p.private_data = data.data();
    p.private_data_len = static_cast<std::uint8_t>(bytes);
    p.responder_resources = p.initiator_depth = 1;
    p.retry_count = p.rnr_retry_count = 7;
    return p;
  }
  int connect(const Id& id, std::size_t bytes) {
    rdma_conn_param p = param(bytes);
    return outcome(rdma_connect(id.get(), &p));
  }
  int accept(const Id& id, std::size_t bytes) {
    rdma_conn_param p = param(bytes);
    return outcome(rdma_accept(id.get(), &p));
  }
  // The ID of a request that has come.
  Id take_request(std::size_t bytes) {
    const Event request = take(of_server);
    EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(request.private_bytes, bytes);
    make_qp(*request.id);
    return Id(request.id);
  }

  std::array<std::uint8_t, 256> data{};
  Channel of_server{rdma_create_event_channel()}, of_client{rdma_create_event_channel()};
  Id listener;
};

TEST_P(ConnectionRules, PrivateDataThatDoesNotFitIsRefused) {
  const std::size_t asks = datagrams() ? 180 : 56, accepts = datagrams() ? 136 : 196, rejects = datagrams() ? 136 : 148;
  listen();
  for (const bool accepted : {true, false}) {
    const Id client = ready_client();
    EXPECT_EQ(connect(client, asks + 1), EINVAL);
    EXPECT_EQ(connect(client, 255), EINVAL);
    ASSERT_EQ(connect(client, asks), 0) << "the ID is as before";
    const Id server = take_request(asks);
    if (accepted) {
      ASSERT_EQ(accept(server, accepts), 0);
    } else {
      EXPECT_EQ(accept(server, accepts + 1), EINVAL);  // librdmacm fails the QP: it cannot be accepted any more
      EXPECT_EQ(outcome(rdma_reject(server.get(), data.data(), static_cast<std::uint8_t>(rejects + 1))), EINVAL);
      ASSERT_EQ(outcome(rdma_reject(server.get(), data.data(), static_cast<std::uint8_t>(rejects))), 0);
    }
    const Event answer = take(of_client);
    EXPECT_EQ(answer.type, accepted      ? RDMA_CM_EVENT_ESTABLISHED
                           : datagrams() ? RDMA_CM_EVENT_UNREACHABLE
                                         : RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(answer.private_bytes, accepted ? accepts : rejects);
    if (accepted && !datagrams()) {
      EXPECT_EQ(take(of_server).type, RDMA_CM_EVENT_ESTABLISHED);
    }
  }
}

// The ID is destroyed, and nobody has read that its address was resolved.
TEST_P(ConnectionRules, UnreadEventsGoWithTheirId) {
  sockaddr_in to = server_address();
  const auto resolve = [&](const Id& id) {
    must(outcome(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 2000)), "rdma_resolve_addr");
  };
  Id goes = make_id(of_client);
  const Id stays = make_id(of_client);
  resolve(goes);
  resolve(stays);
  goes.reset();
  EXPECT_EQ(take(of_client).id, stays.get());
  EXPECT_FALSE(can_be_read(of_client->fd, 0));
  goes = make_id(of_client);
  resolve(goes);
  goes.reset();
  EXPECT_FALSE(can_be_read(of_client->fd, 0));
  ASSERT_EQ(fcntl(of_client->fd, F_SETFL, O_NONBLOCK), 0);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(of_client.get(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

// A listener goes with the requests that it has not taken, an ID to another channel with its events.
TEST_P(ConnectionRules, UnreadEventsGoWithTheListenerAndMoveWithTheId) {
  listen();
  const Id client = ready_client();
  ASSERT_EQ(connect(client, 0), 0);
  ASSERT_TRUE(can_be_read(of_server->fd, static_cast<int>(std::chrono::milliseconds(Patience::current()).count())));
  listener.reset();
  EXPECT_FALSE(can_be_read(of_server->fd, 0));

  const Id moves = make_id(of_client);
  const Channel other(rdma_create_event_channel());
  sockaddr_in to = server_address();
  EXPECT_EQ(take(of_client).type, datagrams() ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED);
  must(outcome(rdma_resolve_addr(moves.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 2000)), "rdma_resolve_addr");
  must(outcome(rdma_migrate_id(moves.get(), other.get())), "rdma_migrate_id");
  EXPECT_FALSE(can_be_read(of_client->fd, 0));
  EXPECT_EQ(take(other).id, moves.get());
  EXPECT_FALSE(can_be_read(other->fd, 0));
}

INSTANTIATE_TEST_SUITE_P(Live, ConnectionRules, testing::Values(RDMA_PS_TCP, RDMA_PS_UDP),
                         [](const auto& space) { return space.param == RDMA_PS_TCP ? "Tcp" : "Udp"; });

// More than fits into the buffers of both ends: the receiver has to give them back.
TEST(RSockets, AStreamThatIsWaitedForBySelectGoesOn) {
  constexpr std::size_t kBytes = 3'000'000;
  std::vector<std::uint8_t> sent(kBytes), got;
  for (std::size_t n = 0; n < kBytes; ++n) sent[n] = static_cast<std::uint8_t>(n * 7 + (n >> 8));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  const ibv_gid gid = World(0).gid(2);  // ::ffff:a.b.c.d
  std::memcpy(&to.sin_addr, gid.raw + 12, 4);
  const auto wait_for = [](int socket) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(socket, &set);
    timeval patience{Patience::current().count(), 0};
    return rselect(socket + 1, &set, nullptr, nullptr, &patience) == 1 && FD_ISSET(socket, &set);
  };
  const int listener = rsocket(AF_INET, SOCK_STREAM, 0);
  must(outcome(rbind(listener, reinterpret_cast<sockaddr*>(&to), sizeof to)), "rbind");
  must(outcome(rlisten(listener, 4)), "rlisten");
  socklen_t size = sizeof to;
  must(outcome(rgetsockname(listener, reinterpret_cast<sockaddr*>(&to), &size)), "rgetsockname");
  auto sends = std::async(std::launch::async, [&] {
    const int socket = rsocket(AF_INET, SOCK_STREAM, 0);
    must(outcome(rconnect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to)), "rconnect");
    for (std::size_t at = 0; at < kBytes;) {
      const ssize_t bytes = rwrite(socket, sent.data() + at, kBytes - at);
      if (bytes <= 0) break;
      at += static_cast<std::size_t>(bytes);
    }
    rshutdown(socket, SHUT_RDWR);
    return rclose(socket);
  });
  const int socket = raccept(listener, nullptr, nullptr);
  ASSERT_GE(socket, 0);
  std::vector<std::uint8_t> buffer(64 * 1024);
  while (wait_for(socket)) {
    const ssize_t bytes = rread(socket, buffer.data(), buffer.size());
    if (bytes <= 0) break;
    got.insert(got.end(), buffer.begin(), buffer.begin() + bytes);
  }
  EXPECT_EQ(got.size(), kBytes);
  EXPECT_TRUE(got == sent);
  rshutdown(socket, SHUT_RDWR);
  EXPECT_EQ(sends.get(), 0);
  rclose(socket);
  rclose(listener);
}

}  // namespace
}  // namespace rxnic::live
