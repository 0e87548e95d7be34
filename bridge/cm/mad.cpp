// SPDX-License-Identifier: Apache-2.0
#include "bridge/cm/mad.h"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

namespace rxnic::cm {

namespace {

constexpr std::uint8_t kBaseVersion = 1, kClass = 7, kClassVersion = 2, kMethodSend = 3;
constexpr std::size_t kTransactionAt = 8, kAttributeAt = 16;

// Bits from the most significant one of byte `byte` on.
std::uint64_t load(std::span<const std::uint8_t> from, std::size_t byte, unsigned bit, unsigned width) {
  std::uint64_t value = 0;
  for (std::size_t at = 8 * byte + bit, end = at + width; at < end; ++at) {
    value = value << 1 | (from[at / 8] >> (7 - at % 8) & 1u);
  }
  return value;
}
void store(std::span<std::uint8_t> to, std::size_t byte, unsigned bit, unsigned width, std::uint64_t value) {
  for (std::size_t at = 8 * byte + bit + width; width-- > 0; value >>= 1) {
    --at;
    const auto mask = static_cast<std::uint8_t>(1u << (7 - at % 8));
    to[at / 8] = static_cast<std::uint8_t>((to[at / 8] & ~mask) | ((value & 1) != 0 ? mask : 0));
  }
}

// The fields of each message: v(byte behind the header, bit, width, member), arrays without a width.
template <class V, class M>
void ids(V& v, M& m) {
  v(0, 0, 32, m.local_id);
  v(4, 0, 32, m.remote_id);
}
template <class V>
void fields(V& v, Request& m) {
  v(0, 0, 32, m.local_id);
  v(8, 0, 64, m.service_id);
  v(16, 0, 64, m.node_guid);
  v(28, 0, 32, m.qkey);
  v(32, 0, 24, m.qpn);
  v(35, 0, 8, m.responder_resources);
  v(39, 0, 8, m.initiator_depth);
  v(43, 0, 5, m.remote_response_timeout);
  v(43, 5, 2, m.service);
  v(43, 7, 1, m.flow_control);
  v(44, 0, 24, m.starting_psn);
  v(47, 0, 5, m.local_response_timeout);
  v(47, 5, 3, m.retry_count);
  v(48, 0, 16, m.pkey);
  v(50, 0, 4, m.mtu);
  v(50, 5, 3, m.rnr_retry);
  v(51, 0, 4, m.max_cm_retries);
  v(51, 4, 1, m.srq);
  v(51, 5, 3, m.extended_transport);
  v(52, 0, 16, m.local_lid);
  v(54, 0, 16, m.remote_lid);
  v(56, m.local_gid);
  v(72, m.remote_gid);
  v(88, 0, 20, m.flow_label);
  v(91, 2, 6, m.rate);
  v(92, 0, 8, m.traffic_class);
  v(93, 0, 8, m.hop_limit);
  v(94, 0, 4, m.service_level);
  v(94, 4, 1, m.subnet_local);
  v(95, 0, 5, m.ack_timeout);
  v(140, m.data);
}
template <class V>
void fields(V& v, MoreTime& m) {
  ids(v, m);
  v(8, 0, 2, m.message);
  v(9, 0, 5, m.service_timeout);
}
template <class V>
void fields(V& v, Reject& m) {
  ids(v, m);
  v(8, 0, 2, m.message);
  v(9, 0, 7, m.info_length);
  v(10, 0, 16, m.reason);
  v(12, m.info);
  v(84, m.data);
}
template <class V>
void fields(V& v, Reply& m) {
  ids(v, m);
  v(8, 0, 32, m.qkey);
  v(12, 0, 24, m.qpn);
  v(20, 0, 24, m.starting_psn);
  v(24, 0, 8, m.responder_resources);
  v(25, 0, 8, m.initiator_depth);
  v(26, 0, 5, m.target_ack_delay);
  v(26, 5, 2, m.failover);
  v(26, 7, 1, m.flow_control);
  v(27, 0, 3, m.rnr_retry);
  v(27, 3, 1, m.srq);
  v(28, 0, 64, m.node_guid);
  v(36, m.data);
}
template <class V>
void fields(V& v, Ready& m) {
  ids(v, m);
  v(8, m.data);
}
template <class V>
void fields(V& v, Disconnect& m) {
  ids(v, m);
  v(8, 0, 24, m.remote_qpn);
  v(12, m.data);
}
template <class V>
void fields(V& v, Disconnected& m) {
  ids(v, m);
  v(8, m.data);
}
template <class V>
void fields(V& v, Lookup& m) {
  v(0, 0, 32, m.request_id);
  v(4, 0, 16, m.pkey);
  v(8, 0, 64, m.service_id);
  v(16, m.data);
}
template <class V>
void fields(V& v, Found& m) {
  v(0, 0, 32, m.request_id);
  v(4, 0, 8, m.status);
  v(5, 0, 8, m.info_length);
  v(8, 0, 24, m.qpn);
  v(12, 0, 64, m.service_id);
  v(20, 0, 32, m.qkey);
  v(24, m.info);
  v(96, m.data);
}

class Writer {
 public:
  explicit Writer(std::span<std::uint8_t> mad) : message_(mad.subspan(kMadHeaderBytes)) {}
  template <class T>
  void operator()(std::size_t byte, unsigned bit, unsigned width, const T& value) {
    store(message_, byte, bit, width, static_cast<std::uint64_t>(value));
  }
  template <std::size_t N>
  void operator()(std::size_t byte, const std::array<std::uint8_t, N>& bytes) {
    std::copy(bytes.begin(), bytes.end(), message_.begin() + static_cast<std::ptrdiff_t>(byte));
  }

 private:
  std::span<std::uint8_t> message_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> mad) : message_(mad.subspan(kMadHeaderBytes)) {}
  template <class T>
  void operator()(std::size_t byte, unsigned bit, unsigned width, T& value) {
    value = static_cast<T>(load(message_, byte, bit, width));
  }
  template <std::size_t N>
  void operator()(std::size_t byte, std::array<std::uint8_t, N>& bytes) {
    std::copy_n(message_.begin() + static_cast<std::ptrdiff_t>(byte), N, bytes.begin());
  }

 private:
  std::span<const std::uint8_t> message_;
};

template <class M>
bool parse_as(std::uint64_t attribute, std::span<const std::uint8_t> mad, Message& to) {
  if (attribute != static_cast<std::uint64_t>(M::kKind)) return false;
  Reader reader(mad);
  fields(reader, to.emplace<M>());
  return true;
}
template <class... M>
bool parse_one_of(std::uint64_t attribute, std::span<const std::uint8_t> mad, std::variant<M...>& to) {
  return (parse_as<M>(attribute, mad, to) || ...);
}

}  // namespace

Mad write(const Message& message, std::uint64_t transaction) {
  Mad mad{kBaseVersion, kClass, kClassVersion, kMethodSend};
  store(mad, kTransactionAt, 0, 64, transaction);
  std::visit(
      [&mad](auto m) {
        store(mad, kAttributeAt, 0, 16, static_cast<std::uint64_t>(m.kKind));
        Writer writer(mad);
        fields(writer, m);
      },
      message);
  return mad;
}

std::optional<Received> parse(std::span<const std::uint8_t> mad) {
  if (mad.size() < kMadBytes) return std::nullopt;
  if (mad[0] != kBaseVersion || mad[1] != kClass || mad[2] != kClassVersion || mad[3] != kMethodSend) {
    return std::nullopt;
  }
  Received received;
  received.transaction = load(mad, kTransactionAt, 0, 64);
  if (!parse_one_of(load(mad, kAttributeAt, 0, 16), mad, received.message)) return std::nullopt;
  return received;
}

}  // namespace rxnic::cm
