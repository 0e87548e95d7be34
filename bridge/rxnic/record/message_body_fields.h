// SPDX-License-Identifier: Apache-2.0
// The fields of each part of a channel message's body under the names that the log gives them, and which part each
// request has. A field or a request that is added to bridge/channel/protocol.h is added here.
#pragma once

#include "bridge/channel/protocol.h"

namespace rxnic {

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
  v("null_region", m.null_region);
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
void fields(V& v, channel::Flow& f) {
  v("number", f.number);
  v("qpn", f.qpn);
  v("counters", f.counters);
  v("priority", f.priority);
  v("kind", f.kind);
  v("value", f.value);
  v("mask", f.mask);
}
template <class V>
void fields(V& v, channel::Counters& c) {
  v("number", c.number);
  v("last_flow", c.last_flow);
  v("packets", c.packets);
  v("bytes", c.bytes);
}
template <class V>
void fields(V& v, channel::Rss& r) {
  v("qpn", r.qpn);
  v("pd", r.pd);
  v("fields", r.fields);
  v("log_entries", r.log_entries);
  v("key", r.key);
  v("queues", r.queues);
}
template <class V>
void fields(V& v, channel::Import& i) {
  v("number", i.number);
  v("client", i.client);
  v("pd", i.pd);
  v("rkey", i.rkey);
  v("length", i.length);
}
template <class V>
void fields(V& v, channel::Clock& c) {
  v("model_time_ps", c.model_time_ps);
}

// Calls f with the part of the body that the message's type uses.
template <class F>
void with_body(channel::Message& m, F&& f) {
  switch (m.type) {
    case channel::Request::kAllocatePd:
    case channel::Request::kFreePd:
    case channel::Request::kFreeMemory:
    case channel::Request::kFreeWindow:
    case channel::Request::kFreeDeviceMemory:
    case channel::Request::kCreateChannel:
    case channel::Request::kFreeChannel:
    case channel::Request::kFreeCq:
    case channel::Request::kFreeSrq:
    case channel::Request::kFreeQp:
    case channel::Request::kFreeFlow:
    case channel::Request::kFreeRss:
    case channel::Request::kCreateCounters:
    case channel::Request::kFreeCounters:
      return f(m.body.handle);
    case channel::Request::kRegisterMemory:
    case channel::Request::kReregisterMemory:
      return f(m.body.memory);
    case channel::Request::kAllocateWindow:
      return f(m.body.window);
    case channel::Request::kAdviseMemory:
      return f(m.body.advice);
    case channel::Request::kAllocateDeviceMemory:
    case channel::Request::kCopyToDevice:
    case channel::Request::kCopyFromDevice:
      return f(m.body.device_memory);
    case channel::Request::kCreateCq:
    case channel::Request::kResizeCq:
    case channel::Request::kModifyCq:
      return f(m.body.cq);
    case channel::Request::kCreateSrq:
    case channel::Request::kModifySrq:
    case channel::Request::kQuerySrq:
      return f(m.body.srq);
    case channel::Request::kCreateQp:
    case channel::Request::kOpenQp:
      return f(m.body.qp);
    case channel::Request::kOpenXrcd:
    case channel::Request::kCloseXrcd:
      return f(m.body.xrcd);
    case channel::Request::kModifyQp:
    case channel::Request::kQueryQp:
      return f(m.body.attributes);
    case channel::Request::kResolve:
      return f(m.body.resolve);
    case channel::Request::kAttachMulticast:
    case channel::Request::kDetachMulticast:
      return f(m.body.multicast);
    case channel::Request::kCreateFlow:
      return f(m.body.flow);
    case channel::Request::kReadCounters:
      return f(m.body.counters);
    case channel::Request::kCreateRss:
      return f(m.body.rss);
    case channel::Request::kImportPd:
    case channel::Request::kImportMemory:
    case channel::Request::kImportDeviceMemory:
      return f(m.body.import);
    case channel::Request::kReadClock:
      return f(m.body.clock);
    case channel::Request::kHello:
    case channel::Request::kOpen:
    case channel::Request::kImportDevice:
      return;
  }
}

}  // namespace rxnic
