// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/message_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace rxnic {

using channel::Board;
using channel::Message;
using channel::Request;
using nlohmann::json;

namespace {

struct RequestName {
  Request type;
  const char* name;
};
constexpr RequestName kRequests[] = {
    {Request::kHello, "hello"},
    {Request::kOpen, "open"},
    {Request::kAllocatePd, "allocate_pd"},
    {Request::kFreePd, "free_pd"},
    {Request::kRegisterMemory, "register_memory"},
    {Request::kReregisterMemory, "reregister_memory"},
    {Request::kFreeMemory, "free_memory"},
    {Request::kCreateChannel, "create_channel"},
    {Request::kFreeChannel, "free_channel"},
    {Request::kCreateCq, "create_cq"},
    {Request::kResizeCq, "resize_cq"},
    {Request::kModifyCq, "modify_cq"},
    {Request::kFreeCq, "free_cq"},
    {Request::kCreateSrq, "create_srq"},
    {Request::kModifySrq, "modify_srq"},
    {Request::kQuerySrq, "query_srq"},
    {Request::kFreeSrq, "free_srq"},
    {Request::kCreateQp, "create_qp"},
    {Request::kModifyQp, "modify_qp"},
    {Request::kQueryQp, "query_qp"},
    {Request::kFreeQp, "free_qp"},
    {Request::kResolve, "resolve"},
    {Request::kAttachMulticast, "attach_multicast"},
    {Request::kDetachMulticast, "detach_multicast"},
    {Request::kReadClock, "read_clock"},
    {Request::kOpenXrcd, "open_xrcd"},
    {Request::kCloseXrcd, "close_xrcd"},
    {Request::kOpenQp, "open_qp"},
    {Request::kAllocateWindow, "allocate_window"},
    {Request::kFreeWindow, "free_window"},
    {Request::kAllocateDeviceMemory, "allocate_device_memory"},
    {Request::kFreeDeviceMemory, "free_device_memory"},
    {Request::kCopyToDevice, "copy_to_device"},
    {Request::kCopyFromDevice, "copy_from_device"},
    {Request::kAdviseMemory, "advise_memory"},
};
static_assert(std::size(kRequests) == static_cast<std::size_t>(channel::kLastRequest));
constexpr const char* kUnknown = "request_";
constexpr const char* kBoards[] = {"send", "receive", "consumer", "arm", "tags"};
static_assert(std::size(kBoards) == channel::kBoards);

// The fields of each struct, once: v(name, field) for numbers, arrays of bytes and structs.
template <class V>
void fields(V& v, AddressVector& a) {
  v("destination_gid", a.destination_gid);
  v("destination_mac", a.destination_mac);
  v("source_gid_index", a.source_gid_index);
  v("traffic_class", a.traffic_class);
  v("flow_label", a.flow_label);
  v("hop_limit", a.hop_limit);
  v("service_level", a.service_level);
  v("udp_source_port", a.udp_source_port);
}
template <class V>
void fields(V& v, channel::Handle& h) {
  v("number", h.number);
}
template <class V>
void fields(V& v, channel::Memory& m) {
  v("pd", m.pd);
  v("access", m.access);
  v("address", m.address);
  v("length", m.length);
  v("iova", m.iova);
  v("rereg_flags", m.rereg_flags);
  v("lkey", m.lkey);
  v("rkey", m.rkey);
  v("page_shift", m.page_shift);
  v("device_memory", m.device_memory);
}
template <class V>
void fields(V& v, channel::CompletionQueue& c) {
  v("cqn", c.cqn);
  v("slots", c.slots);
  v("ring", c.ring);
  v("doorbell", c.doorbell);
  v("channel", c.channel);
  v("ignore_overrun", c.ignore_overrun);
  v("moderation_count", c.moderation_count);
  v("moderation_period_us", c.moderation_period_us);
  v("consumer", c.consumer);
}
template <class V>
void fields(V& v, channel::SharedReceiveQueue& s) {
  v("srqn", s.srqn);
  v("pd", s.pd);
  v("type", s.type);
  v("doorbell", s.doorbell);
  v("ring", s.ring);
  v("slots", s.slots);
  v("stride", s.stride);
  v("limit", s.limit);
  v("cqn", s.cqn);
  v("tag_ring", s.tag_ring);
  v("tag_slots", s.tag_slots);
  v("tag_doorbell", s.tag_doorbell);
  v("xrcd", s.xrcd);
}
template <class V>
void fields(V& v, channel::QueuePair& q) {
  v("qpn", q.qpn);
  v("type", q.type);
  v("pd", q.pd);
  v("send_cq", q.send_cq);
  v("receive_cq", q.receive_cq);
  v("srqn", q.srqn);
  v("has_srq", q.has_srq);
  v("all_signaled", q.all_signaled);
  v("send_ring", q.send_ring);
  v("receive_ring", q.receive_ring);
  v("send_slots", q.send_slots);
  v("send_stride", q.send_stride);
  v("send_doorbell", q.send_doorbell);
  v("receive_slots", q.receive_slots);
  v("receive_stride", q.receive_stride);
  v("receive_doorbell", q.receive_doorbell);
  v("xrcd", q.xrcd);
  v("management", q.management);
}
template <class V>
void fields(V& v, channel::Window& w) {
  v("pd", w.pd);
  v("type", w.type);
  v("rkey", w.rkey);
}
template <class V>
void fields(V& v, channel::Advice& a) {
  v("pd", a.pd);
  v("lkey", a.lkey);
  v("advice", a.advice);
  v("flags", a.flags);
  v("address", a.address);
  v("length", a.length);
  v("pages", a.pages);
}
template <class V>
void fields(V& v, channel::DeviceMemory& d) {
  v("number", d.number);
  v("log_alignment", d.log_alignment);
  v("offset", d.offset);
  v("length", d.length);
  v("address", d.address);
}
template <class V>
void fields(V& v, channel::XrcDomain& x) {
  v("number", x.number);
  v("create", x.create);
  v("exclusive", x.exclusive);
  v("has_file", x.has_file);
  v("file_device", x.file_device);
  v("file_number", x.file_number);
}
template <class V>
void fields(V& v, channel::QpAttributes& a) {
  v("qpn", a.qpn);
  v("mask", a.mask);
  v("state", a.state);
  v("current_state", a.current_state);
  v("path_mtu", a.path_mtu);
  v("qkey", a.qkey);
  v("rq_psn", a.rq_psn);
  v("sq_psn", a.sq_psn);
  v("remote_qpn", a.remote_qpn);
  v("access", a.access);
  v("port", a.port);
  v("pkey_index", a.pkey_index);
  v("is_global", a.is_global);
  v("remote_lid", a.remote_lid);
  v("path", a.path);
  v("max_rd_atomic", a.max_rd_atomic);
  v("max_dest_rd_atomic", a.max_dest_rd_atomic);
  v("min_rnr_timer", a.min_rnr_timer);
  v("timeout", a.timeout);
  v("retry_count", a.retry_count);
  v("rnr_retry", a.rnr_retry);
  v("drained_notify", a.drained_notify);
}
template <class V>
void fields(V& v, channel::Resolve& r) {
  v("path", r.path);
}
template <class V>
void fields(V& v, channel::Multicast& m) {
  v("qpn", m.qpn);
  v("gid", m.gid);
}
template <class V>
void fields(V& v, channel::Clock& c) {
  v("model_time_ps", c.model_time_ps);
}

// Calls f with the part of the body that the message's type uses.
template <class F>
void with_body(Message& m, F&& f) {
  switch (m.type) {
    case Request::kAllocatePd:
    case Request::kFreePd:
    case Request::kFreeMemory:
    case Request::kFreeWindow:
    case Request::kFreeDeviceMemory:
    case Request::kCreateChannel:
    case Request::kFreeChannel:
    case Request::kFreeCq:
    case Request::kFreeSrq:
    case Request::kFreeQp:
      return f(m.body.handle);
    case Request::kRegisterMemory:
    case Request::kReregisterMemory:
      return f(m.body.memory);
    case Request::kAllocateWindow:
      return f(m.body.window);
    case Request::kAdviseMemory:
      return f(m.body.advice);
    case Request::kAllocateDeviceMemory:
    case Request::kCopyToDevice:
    case Request::kCopyFromDevice:
      return f(m.body.device_memory);
    case Request::kCreateCq:
    case Request::kResizeCq:
    case Request::kModifyCq:
      return f(m.body.cq);
    case Request::kCreateSrq:
    case Request::kModifySrq:
    case Request::kQuerySrq:
      return f(m.body.srq);
    case Request::kCreateQp:
    case Request::kOpenQp:
      return f(m.body.qp);
    case Request::kOpenXrcd:
    case Request::kCloseXrcd:
      return f(m.body.xrcd);
    case Request::kModifyQp:
    case Request::kQueryQp:
      return f(m.body.attributes);
    case Request::kResolve:
      return f(m.body.resolve);
    case Request::kAttachMulticast:
    case Request::kDetachMulticast:
      return f(m.body.multicast);
    case Request::kReadClock:
      return f(m.body.clock);
    case Request::kHello:
    case Request::kOpen:
      return;
  }
}

class Writer {
 public:
  std::string text;
  template <std::unsigned_integral T>
  void operator()(const char* name, T value) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":{}", separator(), name, value);
  }
  template <std::size_t N>
  void operator()(const char* name, std::array<std::uint8_t, N>& bytes) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":\"", separator(), name);
    for (const std::uint8_t byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
    text += '"';
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(const char* name, T& nested) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":", separator(), name);
    object(nested);
  }
  template <class T>
  void object(T& of) {
    text += '{';
    first_ = true;
    fields(*this, of);
    text += '}';
    first_ = false;
  }

 private:
  const char* separator() {
    const bool first = first_;
    first_ = false;
    return first ? "" : ",";
  }
  bool first_ = true;
};

[[noreturn]] void refuse(const std::string& name, const std::string& found, const std::string& expected) {
  throw std::invalid_argument(fmt::format("{} {}; expected {}", name, found, expected));
}

class Reader {
 public:
  explicit Reader(const json& from) : from_(from) {}
  template <std::unsigned_integral T>
  void operator()(const char* name, T& value) {
    const json& found = take(name);
    constexpr std::uint64_t kLargest = std::numeric_limits<T>::max();
    if (!found.is_number_unsigned() || found.get<std::uint64_t>() > kLargest) {
      refuse(name, "with another value", fmt::format("an integer from 0 to {}", kLargest));
    }
    value = static_cast<T>(found.get<std::uint64_t>());
  }
  template <std::size_t N>
  void operator()(const char* name, std::array<std::uint8_t, N>& bytes) {
    const json& found = take(name);
    const std::string digits = found.is_string() ? found.get<std::string>() : std::string();
    bool good = digits.size() == 2 * N;
    for (std::size_t i = 0; good && i < N; ++i) {
      const char* const at = digits.data() + 2 * i;
      good = std::from_chars(at, at + 2, bytes[i], 16).ptr == at + 2;
    }
    if (!good) refuse(name, "with another value", fmt::format("{} hexadecimal digits", 2 * N));
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(const char* name, T& nested) {
    const json& found = take(name);
    if (!found.is_object()) refuse(name, "with another value", "an object");
    Reader(found).object(nested);
  }
  template <class T>
  void object(T& of) {
    fields(*this, of);
    if (taken_ != from_.size()) refuse("a field", "that is not known", fmt::format("{} fields", taken_));
  }

 private:
  const json& take(const char* name) {
    const auto it = from_.find(name);
    if (it == from_.end()) refuse(name, "that is missing", "it");
    ++taken_;
    return *it;
  }
  const json& from_;
  std::size_t taken_ = 0;
};

}  // namespace

std::string request_name(Request type) {
  for (const RequestName& r : kRequests) {
    if (r.type == type) return r.name;
  }
  return fmt::format("{}{}", kUnknown, static_cast<unsigned>(type));
}

std::string body_text(const Message& message) {
  Message copy = message;
  Writer writer;
  with_body(copy, [&writer](auto& body) { writer.object(body); });
  return writer.text.empty() ? "{}" : writer.text;
}

Message parse_message(const std::string& type, const json& body) {
  Message m;
  bool known = false;
  for (const RequestName& r : kRequests) {
    if (type != r.name) continue;
    m.type = r.type;
    known = true;
  }
  if (!known) {
    const std::string digits = type.starts_with(kUnknown) ? type.substr(std::string_view(kUnknown).size()) : "";
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
      refuse("type", "'" + type.substr(0, 40) + "'", "the name of a request");
    }
    m.type = static_cast<Request>(number);
  }
  bool has_body = false;
  with_body(m, [&](auto& part) {
    has_body = true;
    part = {};
    Reader(body).object(part);
  });
  if (!has_body && !body.empty()) refuse("body", "with fields", "none for this type");
  return m;
}

const char* board_name(Board board) { return kBoards[static_cast<std::size_t>(board)]; }

Board parse_board(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kBoards); ++i) {
    if (name == kBoards[i]) return static_cast<Board>(i);
  }
  refuse("board", "'" + name.substr(0, 40) + "'", "send, receive, consumer or arm");
}

}  // namespace rxnic
