// SPDX-License-Identifier: Apache-2.0
// READs pending on one QP, and their effect on another QP (rules R2 to R4 of model/blocks/ack_generator.h).
#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_read_test {
namespace {

class NicReads : public NicTest {
 protected:
  static constexpr std::uint32_t kReadBytes = 256 * 1024;
  // Nanoseconds from the arrival of a WRITE of 64 bytes to its ACK, with `reads` READs of 256 KiB pending on another
  // QP.
  std::uint64_t ack_of_a_write(std::uint32_t reads) {
    QpContext& reader = qp(Transport::kRc, 0x21);
    reader.max_dest_rd_atomic = 33;
    const QpContext& writer = qp(Transport::kRc, 0x22);
    const Region data = region(kReadBytes);
    const Region target = region(128);
    // Contexts and translations are cached before the measurement.
    send(reader, {.op = Operation::kReadRequest, .psn = 100, .va = data.va, .rkey = data.key, .length = 8});
    send(writer, {.op = Operation::kWriteOnly, .psn = 100, .bytes = 64, .va = target.va, .rkey = target.key});
    at(20'000);
    for (std::uint32_t i = 0; i < reads; ++i) {
      send(reader, {.op = Operation::kReadRequest,
                    .psn = 101 + i * (kReadBytes / kMtu),
                    .va = data.va,
                    .rkey = data.key,
                    .length = kReadBytes});
    }
    at(40'000);
    expect_written(
        target.va,
        send(writer, {.op = Operation::kWriteOnly, .psn = 101, .bytes = 64, .va = target.va, .rkey = target.key}));
    run();
    EXPECT_EQ(sim().nic.ack_generator.counters().read_bytes, 8 + std::uint64_t{reads} * kReadBytes);
    for (const Answer& a : answers) {
      if (a.is(Operation::kAck) && a.h.psn == Psn{101}) return a.ns - 40'000;
    }
    ADD_FAILURE() << "no ACK";
    return 0;
  }
};

TEST_F(NicReads, AnAckAlone) {
  const std::uint64_t ns = ack_of_a_write(0);
  RecordProperty("ns", static_cast<int>(ns));
  EXPECT_EQ(ns, 124u);
}

// The wire is busy with READ responses of 1 KiB, 90 ns each: two are built and wait for it, one is on it.
TEST_F(NicReads, AnAckWaitsForNoMoreThanTheResponsesThatAreBuilt) {
  const std::uint64_t ns = ack_of_a_write(32);
  RecordProperty("ns", static_cast<int>(ns));
  EXPECT_GT(ns, 124u);
  EXPECT_LE(ns, 124u + 5 * 90u);
}

}  // namespace
}  // namespace rxnic::nic_read_test
