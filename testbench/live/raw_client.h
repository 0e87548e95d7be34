// SPDX-License-Identifier: Apache-2.0
// A program that speaks the channel by itself, without libibverbs: for requests and descriptors that the library would
// never send.
//
//   R1  A call that fails throws std::runtime_error with the call and its errno.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "bridge/channel/protocol.h"
#include "bridge/channel/socket.h"

namespace rxnic::live {

inline void require(bool good, const std::string& call) {
  if (!good) throw std::runtime_error(call + ": " + std::strerror(errno));
}

class RawClient {
 public:
  static constexpr std::uint64_t kHeapBytes = 64u << 20;

  RawClient() {
    const char* address = std::getenv(channel::kSocketVariable);
    std::string error;
    socket_ = channel::connect_to(address == nullptr ? "" : address, error);
    if (!socket_) throw std::runtime_error(error);
  }
  ~RawClient() {
    if (base_ != nullptr) munmap(base_, kBytes);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // The reply to a request; its status is 0 or a positive errno.
  channel::Message call(channel::Message message, std::span<const int> descriptors = {}) {
    message.sequence = ++sequence_;
    errno = channel::send_message(socket_.get(), message, descriptors, channel::Waiting::kYes);
    require(errno == 0, "send");
    channel::Received received;
    errno = channel::receive_message(socket_.get(), received, channel::Waiting::kYes);
    require(errno == 0, "receive");
    return received.message;
  }
  static channel::Message request(channel::Request type) {
    channel::Message message;
    message.type = type;
    return message;
  }
  void hello(const std::string& name = "abuse") {
    channel::Message message = request(channel::Request::kHello);
    message.body.hello = {};
    name.copy(message.body.hello.program, sizeof message.body.hello.program - 1);
    require(call(message).status == 0, "hello");
  }

  // What a kOpen takes; each one can be replaced before open().
  void make_descriptors(std::uint64_t mapping_bytes = kBytes) {
    mapping_.reset(memfd_create("rxnic-abuse", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    require(ftruncate(mapping_.get(), static_cast<off_t>(mapping_bytes)) == 0, "ftruncate");
    require(fcntl(mapping_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0, "F_ADD_SEALS");
    base_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapping_.get(), 0);
    require(base_ != MAP_FAILED, "mmap");
    channel::MappingHeader& h = header();
    h.magic = channel::kMagic;
    h.version = channel::kVersion;
    h.header_bytes = sizeof h;
    h.mapping_bytes = mapping_bytes;
    wake.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int ends[2];
    require(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
    events_.reset(ends[0]);
    events_write.reset(ends[1]);
    own_memory.reset(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  }
  // The status.
  std::int32_t open(std::uint32_t nic = 0) {
    if (base_ == nullptr) make_descriptors();
    channel::Message message = request(channel::Request::kOpen);
    message.body.open = {};
    message.body.open.nic = nic;
    const std::array<int, channel::kMaxDescriptors> descriptors{mapping_.get(), wake.get(), events_write.get(),
                                                                own_memory.get()};
    return call(message, descriptors).status;
  }

  std::uint32_t create_pd() {
    const channel::Message reply = call(request(channel::Request::kAllocatePd));
    require((errno = reply.status) == 0, "kAllocatePd");
    return reply.body.handle.number;
  }
  std::uint32_t create_cq(std::uint32_t slots) {
    channel::Message message = request(channel::Request::kCreateCq);
    message.body.cq = {};
    message.body.cq.slots = slots;
    message.body.cq.ring = heap(slots * 64);
    message.body.cq.doorbell = cqs_++;
    std::memset(at(message.body.cq.ring), 0xff, slots * 64);
    const channel::Message reply = call(message);
    require((errno = reply.status) == 0, "kCreateCq");
    return reply.body.cq.cqn;
  }
  struct Qp {
    std::uint32_t number, record;
    std::uint64_t send_ring;
  };
  // RC, with one slot of 64 bytes in each ring; record n of both boards is the n-th QP's.
  Qp create_qp(std::uint32_t pd, std::uint32_t cq) {
    channel::Message message = request(channel::Request::kCreateQp);
    channel::QueuePair& asked = message.body.qp = {};
    asked.type = 2;  // RC
    asked.pd = pd;
    asked.send_cq = asked.receive_cq = cq;
    asked.send_ring = heap(64);
    asked.receive_ring = heap(64);
    asked.send_slots = asked.receive_slots = 1;
    asked.send_stride = asked.receive_stride = 64;
    asked.send_doorbell = asked.receive_doorbell = qps_++;
    const channel::Message reply = call(message);
    require((errno = reply.status) == 0, "kCreateQp");
    return {reply.body.qp.qpn, asked.send_doorbell, asked.send_ring};
  }

  channel::MappingHeader& header() const { return *static_cast<channel::MappingHeader*>(base_); }
  void* base() const { return base_; }
  std::uint8_t* at(std::uint64_t offset) const { return static_cast<std::uint8_t*>(base_) + offset; }
  int socket() const { return socket_.get(); }
  void close() { socket_.reset(); }

  channel::Descriptor wake, events_write, own_memory;

 private:
  static constexpr std::uint64_t kBytes = channel::kHeapOffset + kHeapBytes;
  std::uint64_t heap(std::uint64_t bytes) {
    const std::uint64_t offset = channel::kHeapOffset + used_;
    used_ += (bytes + 63) / 64 * 64;
    require(used_ <= kHeapBytes, "heap");
    return offset;
  }

  channel::Descriptor socket_, mapping_, events_;
  void* base_ = nullptr;
  std::uint32_t sequence_ = 0;
  std::uint64_t used_ = 0;
  std::uint32_t cqs_ = 0, qps_ = 0;
};

}  // namespace rxnic::live
