// SPDX-License-Identifier: Apache-2.0
// A hostile program opens a NIC like any other. Then it overwrites the memory that it shares with the simulator, and
// rings doorbells with random values. It sends garbage over its socket, to the simulator and to the agent of rdma_cm.
// Beside, it lies (hostile_liar.h).
//
//   usage: hostile [CORRUPTIONS]    (default 10000; seed from RXNIC_SEED); a lie beside every fifth
//
//   R1  It attacks in lives of kLife corruptions, each with a new connection and new queues; a simulator that
//       disconnects it earlier is attacked again.
//   R2  After every kBetweenLooks corruptions it sends a request over a healthy connection: the reply shows that the
//       simulator has taken the corruptions and still works. Exit 1 without a reply.
//   R3  Its queues are of every kind that has a ring: of QPs, of ordinary and XRC SRQs, of tags; all have work.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "bridge/channel/protocol.h"
#include "bridge/channel/socket.h"
#include "testbench/live/hostile_liar.h"
#include "testbench/live/hostile_manager.h"
#include "testbench/live/verbs_world.h"
#include "testbench/live/xrc_objects.h"

namespace rxnic::live {
namespace {

constexpr int kLife = 1000, kBetweenLooks = 20, kBetweenLies = 5;
constexpr std::uint64_t kBusyHeap = 1 << 20;  // of the heap's start, where the queues are

// A connection with queues of every kind in use, and the raw view of what it shares with the simulator.
class Attacker {
 public:
  Attacker() : world_(0), cq_(world_.cq(64)), arena_(world_, 4096) {
    make_tags_and_xrc();
    ibv_srq_init_attr init{};
    init.attr = {64, 2, 0};
    srq_ = own(ibv_create_srq(world_.pd.get(), &init), "ibv_create_srq");
    QpShape on_srq, on_tags;
    on_srq.srq = srq_.get();
    on_tags.srq = tags_.get();
    on_tags.wrs = on_tags.inline_bytes = 0;
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      qps_[i] = make_qp(world_, cq_.get(), cq_.get(), i == 5 ? on_tags : i % 2 == 0 ? QpShape{} : on_srq);
    }
    for (std::size_t i = 0; i < qps_.size(); i += 2) connect_both(qps_[i].get(), world_, qps_[i + 1].get(), world_);
    std::array<ibv_sge, 1> list{arena_.sge(0, 64)};
    for (int i = 0; i < 32; ++i) {
      post_receive(srq_.get(), list);
      for (std::size_t q = 0; q < qps_.size(); q += 2) post_receive(qps_[q].get(), list);
    }
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
    for (std::size_t i = 0; i < 5; ++i) post(qps_[i].get(), wr);
    find_shared();
  }
  // Its objects cannot be destroyed one by one: the library's state is corrupted.
  ~Attacker() {
    for (Owned<ibv_qp>& qp : qps_) (void)qp.release();
    for (Owned<ibv_qp>& qp : xrc_qps_) (void)qp.release();
    for (Owned<ibv_srq>* srq : {&srq_, &tags_, &xrc_srq_}) (void)srq->release();
    (void)xrcd_.release(), (void)cq_.release(), (void)arena_.region.release();
    (void)world_.pd.release(), (void)world_.context.release();
    if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);  // the library still has it open
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;

  bool is_connected() const {
    char byte;
    return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
  }
  void corrupt(std::mt19937_64& random) {
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        return scribble(channel::kHeapOffset + random() % kBusyHeap, random);
      case 3:
        return scribble(random() % sizeof(channel::MappingHeader), random);
      case 4:
        return scribble(random() % channel::kHeapOffset, random);
      case 5:
      case 6:
        return ring(random);
      default:
        return send_garbage(random);
    }
  }

 private:
  // (R3)
  void make_tags_and_xrc() {
    tags_ = make_tag_srq(world_, cq_.get());
    std::array<ibv_sge, 1> list{arena_.sge(0, 64)};
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
      ibv_ops_wr wr{}, *bad = nullptr;
      wr.opcode = IBV_WR_TAG_ADD;
      wr.tm.add = {tag, list.data(), 1, tag, ~std::uint64_t{0}};
      must(ibv_post_srq_ops(tags_.get(), &wr, &bad), "ibv_post_srq_ops");
    }
    xrcd_.reset(open_xrcd(world_.context.get(), -1, O_CREAT));
    must(xrcd_ == nullptr ? -1 : 0, "ibv_open_xrcd");
    xrc_srq_ = make_srq(world_, xrcd_.get(), cq_.get());
    xrc_qps_ = {make_sender(world_, cq_.get()), make_receiver(world_, xrcd_.get())};
    connect_both(xrc_qps_[0].get(), world_, xrc_qps_[1].get(), world_);
    post_receive(tags_.get(), list);
    for (int i = 0; i < 32; ++i) post_receive(xrc_srq_.get(), list);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
    wr.qp_type.xrc.remote_srqn = number_of(xrc_srq_.get());
    post(xrc_qps_[0].get(), wr);
  }

  static std::set<std::uint64_t> mappings() {
    std::set<std::uint64_t> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("memfd:rxnic") != std::string::npos) found.insert(std::stoull(line, nullptr, 16));
    }
    return found;
  }
  static std::set<int> sockets() {
    std::set<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::atoi(entry.path().filename().c_str());
      int type = 0;
      socklen_t size = sizeof type;
      if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) found.insert(fd);
    }
    return found;
  }
  // Finds the mapping and the socket: those that did not exist before the NIC was opened.
  void find_shared() {
    for (const std::uint64_t address : mappings()) {
      if (!mappings_before_.contains(address)) base_ = reinterpret_cast<std::uint8_t*>(address);
    }
    for (const int fd : sockets()) {
      if (!sockets_before_.contains(fd)) socket_ = fd;
    }
    if (base_ == nullptr || socket_ < 0) throw std::runtime_error("found no new mapping or no new socket");
  }

  // 1 to 64 bytes anywhere: plausible words as often as random ones.
  void scribble(std::uint64_t offset, std::mt19937_64& random) {
    const std::size_t length = 1 + random() % 64;
    for (std::size_t i = 0; i < length; ++i) base_[offset + i] = static_cast<std::uint8_t>(random() >> (random() % 56));
    wake();
  }
  std::uint64_t number(std::mt19937_64& random) {
    const std::uint64_t favourites[] = {0, 1, 2, 63, 64, 65, 0x7fffffff, 0x80000000, 0xffffffff, ~std::uint64_t{0}};
    return random() % 2 == 0 ? favourites[random() % std::size(favourites)] : random() >> (random() % 64);
  }
  void ring(std::mt19937_64& random) {
    const auto board = static_cast<channel::Board>(random() % channel::kBoards);
    const auto record = static_cast<std::uint32_t>(random() % (random() % 2 == 0 ? 16 : channel::kDoorbells));
    channel::ring(base_, board, record, number(random));
    wake();
  }
  void wake() {
    auto& header = *reinterpret_cast<channel::MappingHeader*>(base_);
    header.rung.store(1);
  }

  // A packet of random bytes, one of the wrong size, or a request with a random body.
  void send_garbage(std::mt19937_64& random) {
    std::array<std::uint8_t, 2 * sizeof(channel::Message)> bytes;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    std::size_t length = sizeof(channel::Message);
    const auto kind = random() % 64;
    if (kind == 0) length = random() % bytes.size();
    if (kind > 1) {
      channel::Message message;
      for (std::size_t at = 0; at + 8 <= message.body.bytes.size(); at += 8) {
        const std::uint64_t value = number(random);
        std::memcpy(message.body.bytes.data() + at, &value, 8);
      }
      message.type = static_cast<channel::Request>(1 + random() % static_cast<unsigned>(channel::kLastRequest));
      message.sequence = static_cast<std::uint32_t>(random());
      std::memcpy(bytes.data(), &message, sizeof message);
    }
    // Replies are sometimes left unread, so that the simulator finds the socket full. Imports name a client by its
    // socket: this one, or another.
    const int descriptor = sockets_before_.empty() || random() % 2 == 0 ? socket_ : *sockets_before_.begin();
    if (kind > 1 && random() % 2 == 0) {
      channel::Message message;
      std::memcpy(&message, bytes.data(), sizeof message);
      (void)channel::send_message(socket_, message, {&descriptor, 1}, channel::Waiting::kNo);
    } else {
      (void)send(socket_, bytes.data(), length, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (random() % 3 != 0) {
      while (recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
      }
    }
  }

  const std::set<std::uint64_t> mappings_before_ = mappings();
  const std::set<int> sockets_before_ = sockets();
  World world_;
  Owned<ibv_cq> cq_;
  Arena arena_;
  Owned<ibv_srq> srq_, tags_, xrc_srq_;
  OwnedXrcd xrcd_;
  std::array<Owned<ibv_qp>, 2> xrc_qps_;
  std::array<Owned<ibv_qp>, 6> qps_;  // the last one has tags
  std::uint8_t* base_ = nullptr;
  int socket_ = -1;
};

// Connections that send kHello, and then a kOpen with descriptors that are no mapping.
void open_with_wrong_descriptors(std::mt19937_64& random) {
  const char* address = std::getenv(channel::kSocketVariable);
  std::string error;
  const channel::Descriptor socket = channel::connect_to(address == nullptr ? "" : address, error);
  if (!socket) throw std::runtime_error(error);
  channel::Message hello;
  hello.type = channel::Request::kHello;
  hello.sequence = 1;
  (void)channel::send_message(socket.get(), hello, {}, channel::Waiting::kYes);
  const channel::Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const channel::Descriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC));
  if (random() % 2 == 0) (void)ftruncate(unsealed.get(), random() % 2 == 0 ? 4096 : channel::kMappingBytes);
  std::array<int, channel::kMaxDescriptors> descriptors;
  for (int& fd : descriptors) fd = random() % 2 == 0 ? null.get() : unsealed.get();
  channel::Message open;
  open.type = channel::Request::kOpen;
  open.sequence = 2;
  open.body.open.nic = static_cast<std::uint32_t>(random() % 4);
  const auto count = static_cast<std::size_t>(random() % (descriptors.size() + 1));
  (void)channel::send_message(socket.get(), open, std::span(descriptors).first(count), channel::Waiting::kYes);
}

void attack(int corruptions) {
  std::mt19937_64 random(seed());
  const World healthy(0);
  ManagerAttacker manager;
  std::optional<Liar> liar;
  int done = 0, lives = 0;
  for (; done < corruptions; ++lives) {
    open_with_wrong_descriptors(random);
    Attacker attacker;
    if (!liar) liar.emplace();
    for (int age = 0; age < kLife && done < corruptions && attacker.is_connected(); ++age, ++done) {
      attacker.corrupt(random);
      if (done % kBetweenLies == 0) liar->lie(random), manager.attack(random);
      if (done % kBetweenLooks == 0) (void)own(ibv_alloc_pd(healthy.context.get()), "ibv_alloc_pd");  // R2
    }
  }
  std::printf("hostile: %d corruptions in %d lives\n", done, lives);
}

}  // namespace
}  // namespace rxnic::live

int main(int argc, char** argv) {
  try {
    rxnic::live::attack(argc > 1 ? std::atoi(argv[1]) : 10000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hostile: %s\n", error.what());
    return 1;
  }
  std::fflush(stdout);
  _exit(0);  // without the library's destructors: its memory is corrupted
}
