// SPDX-License-Identifier: Apache-2.0
// What the programs of traffic without an end have in common (endless.cpp, endless_connects.cpp). These are their
// arguments, those of perftest and of the pingpongs, and a TCP connection over which server and client meet.
//
//   PROGRAM [-t KIND] -d rxnicN -p PORT [SERVER'S-HOST]
//
//   R1  Without a host it is the server: it listens on the port for one client, and then no more.
//   R2  The connection ends when both have exchanged what they need; they do not see each other's end by it.
//   R3  Whatever fails ends the program with 1 and says so: a call, a completion in error, an event of rdma_cm.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "testbench/live/verbs_world.h"

namespace rxnic::live {

struct Endless {
  std::string kind, host;
  std::uint32_t nic = 0;
  std::uint16_t port = 0;
  bool is_server() const { return host.empty(); }
};

inline Endless parse(int argc, char** argv) {
  Endless e;
  for (int option = 0; (option = getopt(argc, argv, "t:d:p:")) != -1;) {
    if (option == 't') e.kind = optarg;
    if (option == 'p') e.port = static_cast<std::uint16_t>(std::atoi(optarg));
    if (option != 'd') continue;
    const std::string_view name = optarg;
    if (!name.starts_with("rxnic")) throw std::runtime_error("-d: expected rxnicN");
    e.nic = static_cast<std::uint32_t>(std::atoi(name.substr(5).data()));
  }
  if (e.port == 0) throw std::runtime_error("usage: [-t KIND] -d rxnicN -p PORT [HOST]");
  if (optind < argc) e.host = argv[optind];
  return e;
}

class Meeting {
 public:
  explicit Meeting(const Endless& e) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(e.port);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (!e.is_server()) {
      if (inet_pton(AF_INET, e.host.c_str(), &address.sin_addr) != 1) throw std::runtime_error("no IPv4 address");
      must(::connect(socket_, any, sizeof address), "connect");
      return;
    }
    const int on = 1, listener = socket_;
    must(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
    must(bind(listener, any, sizeof address), "bind");
    must(listen(listener, 1), "listen");
    socket_ = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    close(listener);  // (R1)
    must(socket_ < 0 ? -1 : 0, "accept");
  }
  ~Meeting() { end(); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // What the peer gives for this.
  template <class T>
  T exchange(const T& own) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T theirs;
    if (send(socket_, &own, sizeof own, MSG_NOSIGNAL) != sizeof own ||
        recv(socket_, &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs) {
      throw std::runtime_error("the peer is gone");
    }
    return theirs;
  }
  // Nothing is left to exchange.
  void end() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
};

// (R3)
inline int run_endless(int argc, char** argv, const std::function<void(const Endless&)>& traffic) {
  try {
    traffic(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}

}  // namespace rxnic::live
