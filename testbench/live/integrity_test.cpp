// SPDX-License-Identifier: Apache-2.0
// Data integrity on a network that loses, corrupts, duplicates and reorders frames, as the simulator's fabric.* say.
// RXNIC_IMPAIRED names what it does: loss+corrupt, for example.
//
// Streams of reliable QPs with many requests under way: each is carried out once and in order, every byte and every
// atomic's result is right. What arrives of unreliable ones is right. RXNIC_SEED.
#include <endian.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "testbench/live/verbs_pair.h"
#include "testbench/live/xrc_objects.h"

namespace rxnic::live::integrity_test {
namespace {

constexpr std::size_t kMtuBytes = 1024, kGrhBytes = 40, kWord = 8;
constexpr std::size_t kSlice = 32 * kPage;  // of each side's memory, for the requests of one round of one stream
constexpr std::uint32_t kDepth = 48;        // requests of a round
constexpr std::size_t kMost = 6000;         // bytes of a message

enum class Kind : std::uint8_t { kRc, kSrq, kXrc };
constexpr Kind kKinds[] = {Kind::kRc, Kind::kRc, Kind::kSrq, Kind::kXrc};
constexpr std::size_t kStreams = std::size(kKinds);

Path quick_path() {
  Path path;
  path.timeout = 4;  // 65 us
  path.min_rnr_timer = 1;
  return path;
}

std::size_t aligned(std::size_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

class Integrity : public testing::Test {
 protected:
  struct Stream {
    Kind kind = Kind::kRc;
    Owned<ibv_qp> from, to;
    Owned<ibv_srq> srq;
    std::size_t base = 0;                            // of its slice, on both sides
    std::uint64_t next_sent = 0, next_received = 0;  // wr_ids that are due
  };
  struct Received {
    ibv_wc_opcode opcode = IBV_WC_RECV;
    std::uint32_t bytes = 0, immediate = 0;
    bool with_immediate = false;
  };

  Integrity() {
    random_.seed(seed());
    xrcd_ = own(open_xrcd(b.world.context.get(), -1, O_CREAT), "ibv_open_xrcd");
    for (std::size_t n = 0; n < kStreams; ++n) make_stream(n);
  }
  void TearDown() override {
    for (Stream& s : streams_) {
      s.from.reset();
      s.to.reset();
      s.srq.reset();
    }
  }

  void make_stream(std::size_t n) {
    Stream& s = streams_[n];
    s.kind = kKinds[n];
    s.base = kPage + n * kSlice;
    QpShape shape;
    if (s.kind == Kind::kXrc) {
      s.from = make_xrc_sender();
      s.to = make_receiver(b.world, xrcd_.get());
      s.srq = make_srq(b.world, xrcd_.get(), b.receive_cq.get());
    } else {
      if (s.kind == Kind::kSrq) {
        ibv_srq_init_attr init{nullptr, {128, 4, 0}};
        s.srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
        shape.srq = s.srq.get();
      }
      s.from = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
      s.to = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), shape);
    }
    connect_both(s.from.get(), a.world, s.to.get(), b.world, quick_path());
  }

  Owned<ibv_qp> make_xrc_sender() const {
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_SEND;
    init.send_cq = a.send_cq.get();
    init.cap = {64, 0, 4, 0, 64};
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    init.pd = a.world.pd.get();
    return own(ibv_create_qp_ex(a.world.context.get(), &init), "ibv_create_qp_ex");
  }

  std::size_t below(std::size_t n) { return random_() % n; }

  // Posts a round's requests of one stream, in one call, and says what must come of them.
  void post_round(std::size_t n) {
    constexpr ibv_wr_opcode kChoice[] = {
        IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,        IBV_WR_RDMA_WRITE,         IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_WRITE};
    Stream& s = streams_[n];
    std::vector<ibv_send_wr> wrs(kDepth);
    std::vector<ibv_sge> sges(kDepth);
    std::size_t at = s.base;
    for (std::uint32_t i = 0; i < kDepth; ++i) {
      const std::size_t left = s.base + kSlice - at - (kDepth - i) * kWord;
      const std::size_t choices = s.kind == Kind::kXrc ? std::size(kChoice) - 1 : std::size(kChoice);
      const ibv_wr_opcode opcode = kChoice[below(choices)];
      const bool word =
          opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_WRITE;
      const std::size_t bytes = word ? kWord : 1 + below(std::min(kMost, left));
      sges[i] = a.arena.sge(at, bytes);
      wrs[i] = send_wr(opcode, {&sges[i], 1}, id_of(n, s.next_sent + i));
      wrs[i].imm_data = htobe32(static_cast<std::uint32_t>(random_()));
      if (s.kind == Kind::kXrc) wrs[i].qp_type.xrc.remote_srqn = number_of(s.srq.get());
      wrs[i].next = i + 1 < kDepth ? &wrs[i + 1] : nullptr;
      aim(n, wrs[i], at, bytes);
      at += aligned(bytes);
    }
    requests_ += kDepth;
    post(s.from.get(), wrs.front());
  }

  // Where a request reaches B's memory, and what must be there and in A's afterwards.
  void aim(std::size_t n, ibv_send_wr& wr, std::size_t at, std::size_t bytes) {
    const auto sent = a.arena.bytes(at, bytes);
    wr.wr.rdma = {b.arena.address(at), b.arena.region->rkey};
    switch (wr.opcode) {
      case IBV_WR_RDMA_READ:
        a.arena.expect(at, b.arena.bytes(at, bytes));
        return;
      case IBV_WR_ATOMIC_FETCH_AND_ADD:  // of one word for all streams
        wr.wr.atomic = {b.arena.address(0), 1, 0, b.arena.region->rkey};
        fetched_.push_back(at);
        return;
      case IBV_WR_ATOMIC_CMP_AND_SWP: {  // of a word of its own
        const std::size_t word = kWord * (1 + n);
        std::uint64_t& value = swapped_[n];
        const bool matches = below(4) != 0;
        const std::uint64_t before = value;
        const std::uint64_t compare = matches ? value : value + 1;
        wr.wr.atomic = {b.arena.address(word), compare, random_(), b.arena.region->rkey};
        if (matches) value = wr.wr.atomic.swap;
        a.arena.expect(at, {reinterpret_cast<const std::uint8_t*>(&before), kWord});
        b.arena.expect(word, {reinterpret_cast<const std::uint8_t*>(&value), kWord});
        return;
      }
      case IBV_WR_SEND:
      case IBV_WR_SEND_WITH_IMM: {
        ibv_sge to = b.arena.sge(at, bytes);
        receive(n, {&to, 1});
        break;
      }
      case IBV_WR_RDMA_WRITE_WITH_IMM:
        receive(n, {});
        break;
      default:
        break;
    }
    b.arena.expect(at, sent);
    if (wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_ATOMIC_WRITE) return;
    Received r;
    r.bytes = static_cast<std::uint32_t>(bytes);
    r.with_immediate = wr.opcode != IBV_WR_SEND;
    r.immediate = wr.imm_data;
    if (wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) r.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    due_[n].push_back(r);
  }

  void receive(std::size_t n, std::span<ibv_sge> to) {
    const std::uint64_t id = id_of(n, streams_[n].next_received + due_[n].size());
    if (streams_[n].srq) {
      post_receive(streams_[n].srq.get(), to, id);
    } else {
      post_receive(streams_[n].to.get(), to, id);
    }
  }

  static std::uint64_t id_of(std::size_t stream, std::uint64_t number) { return number * kStreams + stream; }

  void take_sent() {
    const ibv_wc wc = take(a.send_cq.get());
    Stream& s = streams_[wc.wr_id % kStreams];
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    ASSERT_EQ(wc.wr_id, id_of(wc.wr_id % kStreams, s.next_sent)) << "completions of a QP come in order";
    ++s.next_sent;
  }

  void take_received() {
    const ibv_wc wc = take(b.receive_cq.get());
    const std::size_t n = wc.wr_id % kStreams;
    Stream& s = streams_[n];
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    ASSERT_FALSE(due_[n].empty()) << "a message was received twice";
    ASSERT_EQ(wc.wr_id, id_of(n, s.next_received));
    const Received& r = due_[n].front();
    EXPECT_EQ(wc.opcode, r.opcode);
    EXPECT_EQ(wc.byte_len, r.bytes);
    EXPECT_EQ((wc.wc_flags & IBV_WC_WITH_IMM) != 0, r.with_immediate);
    if (r.with_immediate) {
      EXPECT_EQ(wc.imm_data, r.immediate);
    }
    due_[n].erase(due_[n].begin());
    ++s.next_received;
  }

  // FETCH_AND_ADDs of all streams have found each value once.
  void expect_fetched() {
    std::set<std::uint64_t> values;
    for (const std::size_t at : fetched_) {
      std::uint64_t value = 0;
      std::memcpy(&value, a.arena.at(at), kWord);
      values.insert(value - added_);
      a.arena.accept(at, kWord);
    }
    EXPECT_EQ(values.size(), fetched_.size()) << "a value was fetched twice";
    EXPECT_TRUE(values.empty() || *values.rbegin() == values.size() - 1) << "an addition was lost, or made twice";
    added_ += fetched_.size();
    atomics_ += fetched_.size();
    b.arena.expect(0, {reinterpret_cast<const std::uint8_t*>(&added_), kWord});
    fetched_.clear();
  }

  void begin_round(std::uint64_t number) {
    a.arena.refill(number * 2);
    b.arena.refill(number * 2 + 1);
    std::memcpy(&added_, b.arena.at(0), kWord);
    for (std::size_t n = 0; n < kStreams; ++n) std::memcpy(&swapped_[n], b.arena.at(kWord * (1 + n)), kWord);
  }

  Side a{0, kPage + kStreams*kSlice}, b{1, kPage + kStreams*kSlice};
  OwnedXrcd xrcd_;
  std::array<Stream, kStreams> streams_;
  std::array<std::vector<Received>, kStreams> due_;
  std::array<std::uint64_t, kStreams> swapped_{};
  std::vector<std::size_t> fetched_;  // places of results in A's memory
  std::uint64_t added_ = 0, requests_ = 0, atomics_ = 0;
  std::mt19937_64 random_;
};

TEST_F(Integrity, ReliableStreamsAreCarriedOutOnceAndInOrder) {
  const char* const asked = std::getenv("RXNIC_ROUNDS");
  const std::uint64_t rounds = asked == nullptr ? 5 : std::strtoull(asked, nullptr, 10);
  std::uint64_t messages = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    begin_round(seed() * 1000 + round);
    for (std::size_t n = 0; n < kStreams; ++n) post_round(n);
    std::size_t received = 0;
    for (const auto& due : due_) received += due.size();
    messages += received;
    for (std::size_t i = 0; i < kStreams * kDepth; ++i) ASSERT_NO_FATAL_FAILURE(take_sent());
    for (std::size_t i = 0; i < received; ++i) ASSERT_NO_FATAL_FAILURE(take_received());
    expect_fetched();
    ASSERT_EQ(a.arena.differs(), "");
    ASSERT_EQ(b.arena.differs(), "");
    ASSERT_TRUE(is_empty(a.send_cq.get()));
    ASSERT_TRUE(is_empty(b.receive_cq.get()));
  }
  std::cout << requests_ << " requests of " << kStreams << " streams, " << messages << " received, " << atomics_
            << " additions\n";
}

// Datagrams and UC.
class Unreliable : public testing::Test {
 protected:
  static constexpr std::uint32_t kBatch = 32, kBatches = 12;

  static std::vector<std::uint8_t> message_of(std::uint32_t number, std::size_t bytes) {
    std::mt19937_64 random(number + 1);
    std::vector<std::uint8_t> message(bytes);
    for (std::uint8_t& byte : message) byte = static_cast<std::uint8_t>(random());
    return message;
  }

  // What was sent before is at the other end, or never will be: several round trips have passed.
  void settle() {
    for (int n = 0; n < 8; ++n) {
      ibv_sge to = a.arena.sge(a.arena.size() - kWord, kWord);
      ibv_send_wr wr = send_wr(IBV_WR_RDMA_READ, {&to, 1});
      wr.wr.rdma = {b.arena.address(b.arena.size() - kWord), b.arena.region->rkey};
      post(fence_sender.get(), wr);
      ASSERT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
    a.arena.accept(a.arena.size() - kWord, kWord);
  }

  void connect_type(ibv_qp_type type) {
    QpShape shape;
    shape.type = type;
    sender = make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), shape);
    receiver = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), shape);
    connect_both(sender.get(), a.world, receiver.get(), b.world, quick_path());
    if (type == IBV_QPT_UD) {
      ibv_ah_attr attributes = address_of(b.world, quick_path());
      address = own(ibv_create_ah(a.world.pd.get(), &attributes), "ibv_create_ah");
    }
    fence_sender = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
    fence_receiver = make_qp(b.world, b.send_cq.get(), b.receive_cq.get());
    connect_both(fence_sender.get(), a.world, fence_receiver.get(), b.world, quick_path());
  }

  // The message that a receive holds has this number, these bytes and nothing else; its number.
  std::uint32_t expect_message(const ibv_wc& wc, std::size_t begin, std::size_t grh) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    const std::uint32_t number = be32toh(wc.imm_data);
    const auto sent = sizes_.find(number);
    if (sent == sizes_.end()) {
      ADD_FAILURE() << "message " << number << " was never sent";
      return number;
    }
    EXPECT_EQ(wc.byte_len, sent->second + grh);
    const auto found = b.arena.bytes(begin + grh, sent->second);
    EXPECT_TRUE(std::ranges::equal(found, message_of(number, sent->second))) << "message " << number;
    return number;
  }

  // Sends batches of messages with numbers; how often each came, in the order of their coming.
  std::vector<std::uint32_t> exchange(ibv_qp_type type, std::size_t most) {
    connect_type(type);
    const bool datagrams = type == IBV_QPT_UD;
    const std::size_t grh = datagrams ? kGrhBytes : 0, room = 4096 + kGrhBytes;
    std::mt19937_64 random(seed());
    std::vector<std::uint32_t> came;
    std::uint32_t next_receive = 0, posted = 0, number = 0;
    const auto place = [&](std::uint64_t receive) { return (receive % 100) * room; };
    for (std::uint32_t batch = 0; batch < kBatches; ++batch) {
      for (; posted < next_receive + 100; ++posted) {
        ibv_sge into = b.arena.sge(place(posted), room);
        post_receive(receiver.get(), {&into, 1}, posted);
      }
      for (std::uint32_t i = 0; i < kBatch; ++i, ++number) {
        const std::size_t bytes = 1 + random() % most;
        sizes_[number] = bytes;
        const std::vector<std::uint8_t> message = message_of(number, bytes);
        std::copy(message.begin(), message.end(), a.arena.at(i * room));
        ibv_sge source = a.arena.sge(i * room, bytes);
        ibv_send_wr wr = send_wr(IBV_WR_SEND_WITH_IMM, {&source, 1}, number);
        wr.imm_data = htobe32(number);
        if (datagrams) wr.wr.ud = {address.get(), receiver->qp_num, Path{}.qkey};
        post(sender.get(), wr);
      }
      for (std::uint32_t i = 0; i < kBatch; ++i) EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
      settle();
      ibv_wc wc{};
      while (ibv_poll_cq(b.receive_cq.get(), 1, &wc) == 1) {
        EXPECT_EQ(wc.wr_id, next_receive) << "receives are used in order";
        came.push_back(expect_message(wc, place(wc.wr_id), grh));
        ++next_receive;
      }
      if (HasFailure()) return came;
    }
    std::cout << came.size() << " of " << number << " messages came\n";
    EXPECT_GT(came.size(), number / 4);
    return came;
  }

  Side a{0, 128 * kPage}, b{1, 128 * kPage};
  Owned<ibv_qp> sender, receiver, fence_sender, fence_receiver;
  Owned<ibv_ah> address;
  std::map<std::uint32_t, std::size_t> sizes_;  // of the messages, by number
};

TEST_F(Unreliable, DatagramsThatArriveAreRight) {
  const std::vector<std::uint32_t> came = exchange(IBV_QPT_UD, kMtuBytes);
  std::map<std::uint32_t, int> times;
  for (const std::uint32_t number : came) ++times[number];
  for (const auto& [number, count] : times) EXPECT_LE(count, 2) << "datagram " << number;
}

TEST_F(Unreliable, UcMessagesThatArriveAreWhole) {
  const std::vector<std::uint32_t> came = exchange(IBV_QPT_UC, 4 * kMtuBytes);
  std::map<std::uint32_t, int> times;
  for (const std::uint32_t n : came) ++times[n];
  for (const auto& [n, count] : times) EXPECT_LE(count, 2) << "message " << n;
  // A FIRST or ONLY begins a message whatever its PSN (rules 6): a copy is another message, a late one comes late.
  const char* const impaired = std::getenv("RXNIC_IMPAIRED");
  const std::string_view kinds = impaired == nullptr ? "" : impaired;
  if (kinds.find("duplicate") != kinds.npos || kinds.find("reorder") != kinds.npos) return;
  EXPECT_TRUE(std::ranges::adjacent_find(came, std::greater_equal()) == came.end()) << "each once, and in order";
}

// Each packet of a WRITE is there whole, or not at all; nothing else is written.
TEST_F(Unreliable, UcWritesPlaceWholePacketsOnly) {
  connect_type(IBV_QPT_UC);
  constexpr std::size_t kBytes = 4 * kMtuBytes;
  constexpr std::uint32_t kWrites = 100;
  a.arena.refill(2 * seed());
  b.arena.refill(2 * seed() + 1);
  std::size_t written = 0, packets = 0;
  std::mt19937_64 random(seed());
  for (std::uint32_t n = 0; n < kWrites; ++n) {
    const std::size_t at = n * kBytes, bytes = 1 + random() % kBytes;
    ibv_sge source = a.arena.sge(at, bytes);
    ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, {&source, 1}, n);
    wr.wr.rdma = {b.arena.address(at), b.arena.region->rkey};
    post(sender.get(), wr);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    sizes_[n] = bytes;
  }
  settle();
  for (const auto& [n, bytes] : sizes_) {
    for (std::size_t of = 0; of < bytes; of += kMtuBytes) {
      const std::size_t at = n * kBytes + of, part = std::min(kMtuBytes, bytes - of);
      ++packets;
      if (!std::ranges::equal(b.arena.bytes(at, part), a.arena.bytes(at, part))) continue;
      ++written;
      b.arena.expect(at, a.arena.bytes(at, part));
    }
  }
  EXPECT_EQ(a.arena.differs(), "");
  EXPECT_EQ(b.arena.differs(), "") << "a packet that is not there has left bytes";
  EXPECT_GT(written, packets / 2);
  std::cout << written << " of " << packets << " packets came\n";
}

}  // namespace
}  // namespace rxnic::live::integrity_test
