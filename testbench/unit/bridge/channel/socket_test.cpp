// SPDX-License-Identifier: Apache-2.0
#include "bridge/channel/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::channel::socket_test {
namespace {

// Two ends of a socket as connect_to and accept make them.
struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    a.reset(ends[0]);
    b.reset(ends[1]);
  }
  Descriptor a, b;
};

struct Folder {
  Folder() {
    std::string name = testing::TempDir() + "rxnic-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() { EXPECT_EQ(rmdir(path.c_str()), 0) << "something is left in " << path; }
  std::string path;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int i = 0; i < 1024; ++i) count += fcntl(i, F_GETFD) >= 0 ? 1u : 0u;
  return count;
}

bool close_on_exec(int descriptor) { return (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0; }

TEST(Socket, CarriesAMessageBothWays) {
  Pair pair;
  Message sent = rxnic::message_of(Request::kQueryQp, 77);
  for (std::size_t i = 0; i < sent.body.bytes.size(); ++i) sent.body.bytes[i] = static_cast<std::uint8_t>(i * 7);
  ASSERT_EQ(send_message(pair.a.get(), sent, {}, Waiting::kYes), 0);
  Received received;
  ASSERT_EQ(receive_message(pair.b.get(), received, Waiting::kYes), 0);
  EXPECT_EQ(std::memcmp(&sent, &received.message, sizeof sent), 0);
  EXPECT_EQ(received.descriptor_count, 0u);
  ASSERT_EQ(send_message(pair.b.get(), sent, {}, Waiting::kNo), 0);
  EXPECT_EQ(receive_message(pair.a.get(), received, Waiting::kNo), 0);
  EXPECT_EQ(receive_message(pair.a.get(), received, Waiting::kNo), EAGAIN);
}

TEST(Socket, DescriptorsArriveInOrderAndCloseOnExec) {  // R3
  Pair pair;
  for (std::size_t count = 1; count <= kMaxDescriptors; ++count) {
    std::vector<Descriptor> files;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      files.emplace_back(memfd_create("rxnic-test", 0));
      ASSERT_EQ(ftruncate(files.back().get(), static_cast<off_t>(100 + i)), 0);
      numbers.push_back(files.back().get());
    }
    ASSERT_EQ(send_message(pair.a.get(), {}, numbers, Waiting::kYes), 0);
    Received received;
    ASSERT_EQ(receive_message(pair.b.get(), received, Waiting::kYes), 0);
    ASSERT_EQ(received.descriptor_count, count);
    for (std::size_t i = 0; i < count; ++i) {
      struct stat file;
      ASSERT_EQ(fstat(received.descriptors[i].get(), &file), 0);
      EXPECT_EQ(file.st_size, static_cast<off_t>(100 + i));
      EXPECT_TRUE(close_on_exec(received.descriptors[i].get()));
    }
  }
}

TEST(Socket, TooManyDescriptorsAreNotSent) {
  Pair pair;
  const std::vector<int> numbers(kMaxDescriptors + 1, 0);
  EXPECT_EQ(send_message(pair.a.get(), {}, numbers, Waiting::kYes), EINVAL);
}

// Sends what a hostile program may send: a packet of any size, with any number of descriptors.
void send_raw(int socket, std::size_t bytes, std::size_t descriptors) {
  const std::vector<std::uint8_t> data(bytes, 0xa5);
  const std::vector<int> numbers(descriptors, socket);
  std::vector<std::uint8_t> control(CMSG_SPACE(descriptors * sizeof(int)));
  iovec vector{const_cast<std::uint8_t*>(data.data()), bytes};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (descriptors != 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    std::memcpy(CMSG_DATA(rights), numbers.data(), descriptors * sizeof(int));
  }
  ASSERT_EQ(sendmsg(socket, &header, 0), static_cast<ssize_t>(bytes));
}

TEST(Socket, WrongSizesAndSurplusDescriptorsAreRefusedAndNothingLeaks) {  // R4
  Pair pair;
  const std::size_t before = open_descriptors();
  struct Packet {
    std::size_t bytes, descriptors;
  };
  for (const Packet& p :
       {Packet{1, 0}, Packet{511, 0}, Packet{513, 0}, Packet{4096, 0}, Packet{1, 4}, Packet{513, 2}}) {
    send_raw(pair.a.get(), p.bytes, p.descriptors);
    Received received;
    EXPECT_EQ(receive_message(pair.b.get(), received, Waiting::kNo), EBADMSG) << p.bytes << " " << p.descriptors;
    EXPECT_EQ(received.descriptor_count, 0u);
    EXPECT_EQ(open_descriptors(), before) << p.bytes << " " << p.descriptors;
  }
  // The next packet is not affected.
  ASSERT_EQ(send_message(pair.a.get(), rxnic::message_of(Request::kHello, 5), {}, Waiting::kYes), 0);
  Received received;
  ASSERT_EQ(receive_message(pair.b.get(), received, Waiting::kNo), 0);
  EXPECT_EQ(received.message.sequence, 5u);
  for (const Packet& p : {Packet{512, kMaxDescriptors + 1}, Packet{512, 200}, Packet{511, 5}}) {
    const Pair other;
    const std::size_t now = open_descriptors();
    send_raw(other.a.get(), p.bytes, p.descriptors);
    for (int n = 0; n < 2; ++n) {  // it stays
      EXPECT_EQ(receive_message(other.b.get(), received, Waiting::kNo), EBADMSG) << p.bytes << " " << p.descriptors;
      EXPECT_EQ(received.descriptor_count, 0u);
      EXPECT_EQ(open_descriptors(), now) << p.bytes << " " << p.descriptors;
    }
  }
}

TEST(Socket, TheOtherSideGoneIsEpipeWithoutASignal) {  // R5
  Pair pair;
  pair.b.reset();
  EXPECT_EQ(send_message(pair.a.get(), {}, {}, Waiting::kYes), EPIPE);
  Received received;
  EXPECT_EQ(receive_message(pair.a.get(), received, Waiting::kYes), EPIPE);
}

TEST(Socket, UnreadPacketsAreReadBeforeTheEnd) {
  Pair pair;
  ASSERT_EQ(send_message(pair.a.get(), {}, {}, Waiting::kYes), 0);
  pair.a.reset();
  Received received;
  EXPECT_EQ(receive_message(pair.b.get(), received, Waiting::kYes), 0);
  EXPECT_EQ(receive_message(pair.b.get(), received, Waiting::kYes), EPIPE);
}

TEST(Socket, AFullSocketIsEagainWithoutWaiting) {
  Pair pair;
  int result = 0, sent = 0;
  while ((result = send_message(pair.a.get(), {}, {}, Waiting::kNo)) == 0 && sent < 100'000) ++sent;
  EXPECT_EQ(result, EAGAIN);
  EXPECT_GT(sent, 0);
}

TEST(Socket, AddressesThatCannotBeAreNamed) {  // R1
  const std::string longest(sizeof(sockaddr_un::sun_path), 'x');
  for (const std::string& address : {std::string(), std::string("@"), longest, "@" + longest}) {
    std::string error;
    Listener listener;
    EXPECT_FALSE(listener.open(address, error));
    EXPECT_NE(error.find("'" + address + "'"), std::string::npos) << error;
    EXPECT_FALSE(connect_to(address, error));
  }
}

TEST(Socket, ListensInTheAbstractNameSpaceToo) {  // R1
  const std::string address = rxnic::unused_address();
  std::string error;
  Listener listener, second;
  ASSERT_TRUE(listener.open(address, error)) << error;
  EXPECT_FALSE(second.open(address, error));
  EXPECT_NE(error.find("another simulator"), std::string::npos) << error;
  const Descriptor client = connect_to(address, error);
  ASSERT_TRUE(client) << error;
  const Descriptor server = listener.accept();
  ASSERT_TRUE(server);
  EXPECT_TRUE(close_on_exec(client.get()) && close_on_exec(server.get()) && close_on_exec(listener.get()));
  for (const int end : {client.get(), server.get()}) {
    Peer peer;
    ASSERT_TRUE(peer_of(end, peer));
    EXPECT_EQ(peer.pid, getpid());
    EXPECT_EQ(peer.uid, geteuid());
  }
  EXPECT_FALSE(listener.accept());
}

TEST(Socket, FileHasMode0600WhateverTheUmaskIs) {  // R2
  Folder folder;
  const std::string path = folder.path + "/s";
  for (const mode_t mask : {0000u, 0022u, 0077u, 0777u}) {
    const mode_t old = umask(mask);
    Listener listener;
    std::string error;
    const bool listens = listener.open(path, error);
    umask(old);
    ASSERT_TRUE(listens) << error;
    struct stat file;
    ASSERT_EQ(lstat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 07777, 0600u) << mask;
    EXPECT_TRUE(connect_to(path, error)) << error;
  }
}

TEST(Socket, StaleFileIsReplacedALivingOneRefused) {  // R2
  Folder folder;
  const std::string path = folder.path + "/s";
  std::string error;
  {
    const Descriptor dead{socket(AF_UNIX, SOCK_SEQPACKET, 0)};
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strcpy(name.sun_path, path.c_str());
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }
  EXPECT_FALSE(connect_to(path, error));
  EXPECT_NE(error.find(path), std::string::npos) << error;
  Listener first, second;
  ASSERT_TRUE(first.open(path, error)) << error;
  EXPECT_FALSE(second.open(path, error));
  EXPECT_NE(error.find("another program listens there"), std::string::npos) << error;
  EXPECT_TRUE(connect_to(path, error)) << "the refused listener removed the other's file: " << error;
}

TEST(Socket, AFileThatIsNoSocketIsLeftAlone) {  // R2
  Folder folder;
  const std::string path = folder.path + "/s";
  std::ofstream(path) << "precious";
  std::string error;
  Listener listener;
  EXPECT_FALSE(listener.open(path, error));
  EXPECT_NE(error.find("no socket"), std::string::npos) << error;
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "precious");
  EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST(Socket, FileOfAnotherIsNotRemoved) {  // R2
  Folder folder;
  const std::string path = folder.path + "/s";
  std::string error;
  Listener first, second;
  ASSERT_TRUE(first.open(path, error));
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_TRUE(second.open(path, error));
  first.close();
  EXPECT_TRUE(connect_to(path, error)) << error;
}

TEST(Socket, NobodyThereAndNoSuchFolderAreSaid) {
  Folder folder;
  std::string error;
  EXPECT_FALSE(connect_to(folder.path + "/none", error));
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
  Listener listener;
  EXPECT_FALSE(listener.open(folder.path + "/none/s", error));
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
}

// The file is there before its socket listens.
TEST(Socket, WhoseFileIsThereAnswers) {  // R2
  Folder folder;
  const std::string path = folder.path + "/s";
  for (int round = 0; round < 300; ++round) {
    Listener listener;
    std::atomic<bool> opened{false};
    std::thread simulator([&] {
      std::string error;
      EXPECT_TRUE(listener.open(path, error)) << error;
      opened = true;
    });
    while (access(path.c_str(), F_OK) != 0 && !opened) std::this_thread::yield();
    std::string error;
    EXPECT_TRUE(connect_to(path, error)) << "round " << round << ": " << error;
    simulator.join();
  }
}

TEST(Socket, OfManyThatFindAStaleFileOneListens) {  // R2
  Folder folder;
  const std::string path = folder.path + "/s";
  for (int round = 0; round < 100; ++round) {
    {
      const Descriptor dead{socket(AF_UNIX, SOCK_SEQPACKET, 0)};
      sockaddr_un name{};
      name.sun_family = AF_UNIX;
      std::strcpy(name.sun_path, path.c_str());
      ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    }
    constexpr std::size_t kThreads = 4;
    Listener listeners[kThreads];
    std::atomic<int> listening{0};
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (Listener& listener : listeners) {
      threads.emplace_back([&] {
        std::string error;
        together.arrive_and_wait();
        if (listener.open(path, error)) ++listening;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(listening, 1);
    std::string error;
    EXPECT_TRUE(connect_to(path, error)) << error;
  }
}

}  // namespace
}  // namespace rxnic::channel::socket_test
