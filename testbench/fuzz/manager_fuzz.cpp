// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the connection manager (bridge/cm): any commands of programs, messages of peers that arrive, are
// lost or arrive changed, and time. What parses can be written, and is read again as it was.
#include <fuzzer/FuzzedDataProvider.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include "bridge/cm/manager.h"

namespace {

using namespace rxnic::cm;

constexpr std::uint32_t kNics = 2, kFiles = 3;

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", rule);
  std::abort();
}

std::vector<NicAddress> nics() {
  std::vector<NicAddress> all(kNics);
  for (std::uint32_t n = 0; n < kNics; ++n) {
    all[n].node_guid = n + 1;
    all[n].v4 = {ipv4_endpoint(0xc6120001 + n).ip, 2};
    all[n].v6.bytes[0] = 0xfe;
    all[n].v6.bytes[15] = static_cast<std::uint8_t>(n);
  }
  return all;
}

void check_mad(std::span<const std::uint8_t> bytes) {
  const auto read = parse(bytes);
  if (!read) return;
  const Mad written = write(read->message, read->transaction);
  const auto again = parse(written);
  require(again.has_value(), "what was written can be parsed");
  require(again->transaction == read->transaction, "the transaction comes back");
  require(write(again->message, again->transaction) == written, "the message comes back");
}

class World final : public Surroundings {
 public:
  explicit World(FuzzedDataProvider& input) : input_(input), manager_(nics(), *this, 1) {
    for (std::uint32_t f = 0; f < kFiles; ++f) open(f);
  }
  void send(std::uint32_t nic, std::uint8_t, const GidBytes&, const Mad& mad) override {
    if (wire_.size() < 64) wire_.push_back({nic, mad});
  }
  void notify(File) override {}
  void retract(File, std::size_t) override {}
  bool is_of_host(const GidBytes&) const override { return input_.ConsumeBool(); }

  void run() {
    while (input_.remaining_bytes() > 0) step();
    for (std::uint32_t f = 0; f < kFiles; ++f) manager_.close(File{f}, now_);
    require(manager_.ids() == 0, "an ID ends with its file");
    for (int n = 0; n < 1000 && manager_.next_due(); ++n) {
      now_ = std::max(now_, *manager_.next_due());
      manager_.run_timers(now_);
    }
    require(manager_.connections() == 0, "a connection without an ID ends");
  }

 private:
  struct Frame {
    std::uint32_t nic;
    Mad mad;
  };
  void open(std::uint32_t f) { manager_.open(File{f}, f < kNics ? std::optional<std::uint32_t>(f) : std::nullopt); }
  void step() {
    switch (input_.ConsumeIntegralInRange(0, 5)) {
      case 0:
      case 1:
        return command();
      case 2:
        return deliver();
      case 3: {  // a message of nobody
        const auto mad = input_.ConsumeBytes<std::uint8_t>(kMadBytes);
        check_mad(mad);
        const std::uint32_t nic = input_.ConsumeIntegralInRange(0u, kNics - 1);
        return manager_.receive(nic, nics()[1 - nic].v4.bytes, mad, now_);
      }
      case 4:
        now_ += std::chrono::milliseconds(input_.ConsumeIntegral<std::uint16_t>());
        return manager_.run_timers(now_);
      default: {
        const std::uint32_t f = input_.ConsumeIntegralInRange(0u, kFiles - 1);
        manager_.close(File{f}, now_);
        open(f);
      }
    }
  }
  void command() {
    const File file{input_.ConsumeIntegralInRange(0u, kFiles - 1)};
    const auto number = input_.ConsumeIntegralInRange<std::uint32_t>(0, RDMA_USER_CM_CMD_JOIN_MCAST + 1);
    const auto in = input_.ConsumeBytes<std::uint8_t>(input_.ConsumeIntegralInRange<std::size_t>(0, 512));
    const auto out = input_.ConsumeIntegralInRange<std::size_t>(0, 1024);
    std::vector<std::uint8_t> reply;
    require(manager_.command(file, number, in, out, now_, reply) >= 0, "a positive errno");
    require(reply.size() <= out, "no more than the program takes");
  }
  void deliver() {
    if (wire_.empty()) return;
    Frame frame = wire_.front();
    wire_.pop_front();
    check_mad(frame.mad);
    if (input_.ConsumeBool())
      frame.mad[input_.ConsumeIntegral<std::uint8_t>()] ^= input_.ConsumeIntegral<std::uint8_t>();
    manager_.receive(1 - frame.nic, nics()[frame.nic].v4.bytes, frame.mad, now_);
  }

  FuzzedDataProvider& input_;
  Manager manager_;
  std::deque<Frame> wire_;
  Time now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  World(input).run();
  return 0;
}
