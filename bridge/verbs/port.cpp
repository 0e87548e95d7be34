// SPDX-License-Identifier: Apache-2.0
// Attributes of a NIC and its port: fixed when the device is opened, so only the clock is read from the simulator.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/objects.h"
#include "bridge/verbs/port_speed.h"
#include "model/types/tag_matching.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint8_t kPort = 1;              // a NIC has one
constexpr std::uint32_t kVendorId = 0x027278;  // the first half of a NIC's MAC, locally administered
// A number of our own vendor. perftest knows devices by this number alone, whoever their vendor is. With a number that
// it does not know, perftest uses neither inline data nor ibv_wr_*; with this number it uses both.
constexpr std::uint32_t kPartId = 4119;
// IB_UVERBS_DEVICE_ATOMIC_WRITE of Linux 6.2: verbs.h of rdma-core 44 does not name it.
constexpr std::uint64_t kDeviceAtomicWrite = std::uint64_t{1} << 40;

// control_path.h R2: copies `whole` into the caller's struct, which may be that of another release.
template <class T>
void copy_out(const T& whole, void* to, std::size_t bytes) {
  std::memset(to, 0, bytes);
  std::memcpy(to, &whole, std::min(bytes, sizeof whole));
}

static_assert(IBV_MTU_256 == mtu_code(256) && IBV_MTU_4096 == mtu_code(4096));

int as_int(std::uint32_t n) { return static_cast<int>(std::min<std::uint32_t>(n, 0x7fffffff)); }

ibv_device_attr device_attributes(const Context& context) {
  const channel::DeviceAttributes& a = context.attributes;
  ibv_device_attr d{};
  std::snprintf(d.fw_ver, sizeof d.fw_ver, "%u.0.0", channel::kVersion);
  d.node_guid = d.sys_image_guid = a.node_guid;
  d.max_mr_size = std::uint64_t{1} << 47;
  d.page_size_cap = ~std::uint64_t{4095};
  d.vendor_id = kVendorId;
  d.vendor_part_id = kPartId;
  d.max_qp = as_int(a.max_qps);
  d.max_qp_wr = as_int(a.max_qp_wrs);
  d.device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_CURR_QP_STATE_MOD |
                       IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
                       IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_UD_IP_CSUM | IBV_DEVICE_RAW_IP_CSUM;
  d.max_sge = as_int(a.max_sge);
  d.max_sge_rd = 1;
  d.max_cq = as_int(a.max_cqs);
  d.max_cqe = as_int(a.max_cqes);
  d.max_mr = d.max_mw = as_int(a.max_mrs);  // they share them
  d.max_pd = as_int(a.max_pds);
  d.max_qp_rd_atom = d.max_qp_init_rd_atom = as_int(a.max_rd_atomic);
  d.max_res_rd_atom = as_int(a.max_responder_resources);
  d.atomic_cap = IBV_ATOMIC_HCA;
  d.max_mcast_grp = d.max_mcast_qp_attach = d.max_total_mcast_qp_attach = as_int(a.max_multicast_groups);
  d.max_raw_ethy_qp = as_int(a.max_qps);
  d.max_ah = as_int(a.max_ahs);
  d.max_srq = as_int(a.max_srqs);
  d.max_srq_wr = as_int(a.max_srq_wrs);
  d.max_srq_sge = as_int(a.max_srq_sge);
  d.max_pkeys = 1;
  d.local_ca_ack_delay = 15;  // 4.096 us * 2^15: the simulator may be busy elsewhere
  d.phys_port_cnt = 1;
  return d;
}

bool valid_gid(const Context& context, std::uint32_t index) {
  return index < channel::kGids && context.attributes.gids[index].type != channel::GidType::kNone;
}

ibv_gid_entry gid_entry(const Context& context, std::uint32_t index) {
  const channel::Gid& gid = context.attributes.gids[index];
  ibv_gid_entry entry{};
  std::memcpy(entry.gid.raw, gid.bytes.data(), sizeof entry.gid.raw);
  entry.gid_index = index;
  entry.port_num = kPort;
  entry.gid_type = gid.type == channel::GidType::kRoceV2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
  return entry;
}

}  // namespace

int query_device(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = device_attributes(context_of(context));
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                    std::size_t bytes) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (bytes < sizeof attributes->orig_attr) return EINVAL;
  ibv_device_attr_ex d{};
  d.orig_attr = device_attributes(context_of(context));
  const channel::DeviceAttributes& a = context_of(context).attributes;
  d.completion_timestamp_mask = ~std::uint64_t{0};
  d.hca_core_clock = context_of(context).attributes.core_clock_khz;
  d.device_cap_flags_ex = d.orig_attr.device_cap_flags | kDeviceAtomicWrite;
  d.tm_caps = {kTmhBytes + kRvhBytes + 32, context_of(context).attributes.max_tags, IBV_TM_CAP_RC,
               context_of(context).attributes.max_tag_operations, 1};
  d.cq_mod_caps = {0xffff, 0xffff};
  d.max_dm_size = context_of(context).attributes.device_memory_bytes;
  d.rss_caps = {1u << IBV_QPT_RAW_PACKET, a.max_rss, kMostRssEntries, 0xff, IBV_RX_HASH_FUNC_TOEPLITZ};
  d.max_wq_type_rq = a.max_qps;
  d.tso_caps = {a.max_tso, 1u << IBV_QPT_UD | 1u << IBV_QPT_RAW_PACKET};
  d.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM;
  d.phys_port_cnt_ex = 1;
  // The device waits for pages, whoever needs them.
  constexpr std::uint32_t kConnected = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
                                       IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
  constexpr std::uint32_t kDatagrams = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
  d.odp_caps = {IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
                {kConnected, kDatagrams | IBV_ODP_SUPPORT_WRITE, kDatagrams}};
  d.xrc_odp_caps = kConnected;
  copy_out(d, attributes, bytes);
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t bytes) {
  if (port != kPort) return EINVAL;
  const Context& c = context_of(context);
  const PortSpeed speed = port_speed(c.attributes.link_mbps);
  ibv_port_attr p{};
  p.state = c.dead.load(std::memory_order_acquire) ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  p.max_mtu = static_cast<ibv_mtu>(kMaxMtuCode);
  p.active_mtu = static_cast<ibv_mtu>(mtu_code(c.attributes.active_mtu));
  p.gid_tbl_len = channel::kGids;
  p.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  p.max_msg_sz = kMaxSendBytes;
  p.pkey_tbl_len = 1;
  p.max_vl_num = 1;
  p.active_width = speed.width;
  p.active_speed = speed.speed;
  p.phys_state = p.state == IBV_PORT_ACTIVE ? 5 : 3;  // LinkUp, Disabled
  p.link_layer = IBV_LINK_LAYER_ETHERNET;
  p.flags = IBV_QPF_GRH_REQUIRED;
  copy_out(p, attributes, bytes);
  return 0;
}

int query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (port != kPort || index < 0 || static_cast<std::uint32_t>(index) >= channel::kGids) {
    errno = EINVAL;
    return -1;
  }
  // An empty slot reads as zeros.
  *gid = gid_entry(context_of(context), static_cast<std::uint32_t>(index)).gid;
  return 0;
}

int query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                 std::uint32_t flags, std::size_t bytes) {
  if (flags != 0) return EOPNOTSUPP;
  if (port != kPort || index >= channel::kGids) return EINVAL;
  if (!valid_gid(context_of(context), index)) return ENODATA;
  copy_out(gid_entry(context_of(context), index), entry, bytes);
  return 0;
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t count, std::uint32_t flags,
                        std::size_t bytes) {
  if (flags != 0) return -EOPNOTSUPP;
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < channel::kGids; ++i) {
    if (!valid_gid(context_of(context), i)) continue;
    if (found == count) return -EINVAL;
    copy_out(gid_entry(context_of(context), i), reinterpret_cast<char*>(entries) + found * bytes, bytes);
    ++found;
  }
  return static_cast<ssize_t>(found);
}

int query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
  if (port != kPort || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = kDefaultPkey;
  return 0;
}

int get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
  if (port == kPort && pkey == kDefaultPkey) return 0;
  errno = EINVAL;
  return -1;
}

int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  if ((values->comp_mask & ~std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
  if (values->comp_mask == 0) return 0;
  channel::Message message = request(channel::Request::kReadClock);
  Context& c = context_of(context);
  if (const int status = call(c, message); status != 0) return status;
  // All of it in tv_nsec, as other providers do; a caller that adds the seconds gets the same time.
  values->raw_clock.tv_sec = 0;
  values->raw_clock.tv_nsec = static_cast<long>(clock_ticks(c.attributes, message.body.clock.model_time_ps));
  return 0;
}

}  // namespace rxnic::verbs
