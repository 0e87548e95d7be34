// SPDX-License-Identifier: Apache-2.0
#include "bridge/dpi/pin_client.h"

#include <algorithm>
#include <utility>

namespace rxnic::dpi {

namespace {

constexpr std::size_t kMaxWords = kMaxPacketBytes / kWordBytes;

}  // namespace

std::string PinClient::connect(const std::string& block, const std::string& address) {
  std::string error;
  channel::Descriptor socket = channel::connect_to(address, error);
  return socket ? open(std::move(socket), block) : error;
}

std::string PinClient::open(channel::Descriptor socket, const std::string& block) {
  socket_ = std::move(socket);
  PinRecord wanted;
  wanted.kind = PinKind::kModule;
  wanted.value = kPinsVersion;
  if (!set_name(wanted, block)) return block + ": is too long for the name of a block";
  records_.resize(kMaxPacketBytes / sizeof(PinRecord));
  // Whether it was sent shows by the answer.
  send_packet(socket_.get(), &wanted, sizeof wanted);
  return read(receive_packet(socket_.get(), records_.data(), records_.size() * sizeof(PinRecord)), block);
}

std::string PinClient::read(std::size_t bytes, const std::string& block) {
  const std::size_t count = bytes / sizeof(PinRecord);
  if (count == 0 || count > records_.size() || bytes % sizeof(PinRecord) != 0 || records_[0].kind != PinKind::kModule) {
    return "found something else than bridge/dpi";
  }
  if (records_[0].value != kPinsVersion) {
    return "found version " + std::to_string(records_[0].value) + " of bridge/dpi; expected " +
           std::to_string(kPinsVersion);
  }
  if (count == 1) return "found no module for " + block + ", or each is taken, or it has no signals (RXNIC_DESCRIBE)";
  records_.resize(count);
  records_.erase(records_.begin());
  out_.resize(1);
  for (const PinRecord& r : records_) {
    const std::string name = name_of(r);
    if (name.empty()) return "found a parameter or signal without a name";
    if (r.kind != PinKind::kParameter && r.kind != PinKind::kInput && r.kind != PinKind::kOutput) {
      return name + ": found neither a parameter nor a signal";
    }
    std::vector<std::uint32_t>& words = r.kind == PinKind::kInput ? in_ : out_;
    first_.push_back(words.size());
    if (r.kind == PinKind::kParameter) continue;
    if (r.value == 0 || r.value > kMaxWords * kWordBits || words.size() + words_of_pin(r.value) > kMaxWords) {
      return name + ": found " + std::to_string(r.value) + " bits; expected 1 or more, with the others " +
             std::to_string(kMaxWords * kWordBits) + " at most";
    }
    words.resize(words.size() + words_of_pin(r.value));
    if (r.kind != PinKind::kOutput) continue;
    masks_.resize(words.size(), ~0u);
    if (r.value % kWordBits != 0) masks_.back() = (1u << r.value % kWordBits) - 1;
  }
  masks_.resize(out_.size(), ~0u);
  answer_.resize(kMaxWords);
  return {};
}

std::span<std::uint32_t> PinClient::words(std::size_t number) {
  const PinRecord& r = records_[number];
  if (r.kind == PinKind::kParameter) return {};
  return std::span(r.kind == PinKind::kInput ? in_ : out_).subspan(first_[number], words_of_pin(r.value));
}

void PinClient::fail(const std::string& why) {
  failure_ = why;
  socket_.reset();
}

void PinClient::exchange() {
  if (!failure_.empty()) return;
  send_packet(socket_.get(), in_.data(), in_.size() * kWordBytes);
  const std::size_t bytes = receive_packet(socket_.get(), answer_.data(), answer_.size() * kWordBytes);
  if (bytes == 0) return fail("the simulator has ended");
  if (bytes > kWordBytes && bytes <= kMaxPacketBytes && answer_[0] != 0) {
    return fail(std::string(reinterpret_cast<const char*>(answer_.data() + 1), bytes - kWordBytes));
  }
  if (bytes != out_.size() * kWordBytes) {
    const std::size_t expected = out_.size() * kWordBytes;
    return fail("found an answer of " + std::to_string(bytes) + " bytes; expected " + std::to_string(expected));
  }
  for (std::size_t n = 0; n < out_.size(); ++n) out_[n] = answer_[n] & masks_[n];
}

}  // namespace rxnic::dpi
