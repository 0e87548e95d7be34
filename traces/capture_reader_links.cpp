// SPDX-License-Identifier: Apache-2.0
// What stands before the packet in a record: the link types of R1.
#include <pcap/pcap.h>

#include <algorithm>
#include <utility>

#include "traces/capture_reader.h"

namespace rxnic {
namespace {

constexpr std::size_t kErfHeaderBytes = 16;
constexpr std::size_t kErfExtensionBytes = 8;
constexpr unsigned kErfMore = 0x80;  // of a type byte: an extension header follows
constexpr unsigned kErfEthernet = 2;
constexpr unsigned kErfInfiniband = 21;
constexpr unsigned kErfMeta = 27;
constexpr unsigned kErfPad = 48;
constexpr std::size_t kErfEthernetPad = 2;

// www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html and LINKTYPE_LINUX_SLL2.html
constexpr std::size_t kSllBytes = 16;  // packet type, ARPHRD, address length: 2 each; address: 8; protocol: 2
constexpr std::size_t kSll2Bytes =
    20;  // protocol: 2; 0: 2; interface: 4; ARPHRD: 2; packet type, address length; address: 8
constexpr std::size_t kMacBytes = 6;
std::string link_type_text(int type) {
  const char* name = pcap_datalink_val_to_name(type);
  const char* about = pcap_datalink_val_to_description(type);
  return "link type " + std::to_string(type) + (name ? std::string(" (") + name + ", " + about + ")" : "");
}

}  // namespace

void CaptureReader::check_link_type(int type) const {
  switch (type) {
    case DLT_EN10MB:
    case DLT_INFINIBAND:
    case DLT_ERF:
    case DLT_LINUX_SLL:
    case DLT_LINUX_SLL2:
    case DLT_RAW:
    case kLinktypeRaw:
    case DLT_IPV4:
    case DLT_IPV6:
      return;
    default:
      refuse(link_type_text(type),
             "Ethernet (1), InfiniBand (247), ERF (197), Linux cooked (113, 276) or raw IP (101, 228, 229)");
  }
}

// Leaves the frame. False: the record holds no packet.
bool CaptureReader::unwrap(int link_type, CapturedFrame& out) {
  out.link = LinkLayer::kEthernet;
  switch (link_type) {
    case DLT_EN10MB:
      return true;
    case DLT_INFINIBAND:
      out.link = LinkLayer::kInfiniband;
      return true;
    case DLT_ERF:
      return strip_erf(out);
    case DLT_LINUX_SLL:
    case DLT_LINUX_SLL2:
      strip_cooked(out, link_type == DLT_LINUX_SLL2);
      return true;
    case DLT_IPV4:
      onto_ethernet(out, 0, kEtherTypeIpv4, {});
      return true;
    case DLT_IPV6:
      onto_ethernet(out, 0, kEtherTypeIpv6, {});
      return true;
    case DLT_RAW:
    case kLinktypeRaw: {
      const unsigned version = out.bytes.empty() ? 0 : out.bytes[0] >> 4;
      onto_ethernet(out, 0, version == 4 ? kEtherTypeIpv4 : version == 6 ? kEtherTypeIpv6 : 0, {});
      return true;
    }
    default:
      check_link_type(link_type);
      return false;
  }
}

// Takes the ERF header off. False: the record holds no packet.
bool CaptureReader::strip_erf(CapturedFrame& out) const {
  const Bytes record = out.bytes;
  if (record.size() < kErfHeaderBytes) refuse("an ERF record of " + std::to_string(record.size()) + " bytes", "16");
  const unsigned type = record[8] & ~kErfMore;
  if (type == kErfMeta || type == kErfPad) return false;
  if (type != kErfInfiniband && type != kErfEthernet) {
    refuse("an ERF record of type " + std::to_string(type), "21 (InfiniBand) or 2 (Ethernet)");
  }
  std::size_t at = kErfHeaderBytes;
  for (bool more = (record[8] & kErfMore) != 0; more; at += kErfExtensionBytes) {
    if (record.size() < at + kErfExtensionBytes) refuse("an ERF record that ends in its headers", "a packet");
    more = (record[at] & kErfMore) != 0;
  }
  if (type == kErfEthernet) at += kErfEthernetPad;
  if (record.size() < at) refuse("an ERF record that ends in its headers", "a packet");
  out.wire_bytes = load_be16(&record[14]);
  const std::size_t kept = record.size() - at;  // may be padded at its end
  out.bytes = record.subspan(at, std::min<std::size_t>(kept, out.wire_bytes));
  out.truncated = kept < out.wire_bytes;
  out.link = type == kErfInfiniband ? LinkLayer::kInfiniband : LinkLayer::kEthernet;
  return true;
}

// Both headers name the sender's address alone, and no address at all where its length is not that of a MAC.
void CaptureReader::strip_cooked(CapturedFrame& out, bool second_version) {
  const Bytes record = out.bytes;
  const std::size_t header = second_version ? kSll2Bytes : kSllBytes;
  if (record.size() < header) {
    refuse("a Linux cooked record of " + std::to_string(record.size()) + " bytes", std::to_string(header) + " or more");
  }
  const std::size_t address_bytes = second_version ? record[11] : load_be16(&record[4]);
  const std::size_t address_at = second_version ? 12 : 6;
  const std::uint16_t protocol = load_be16(&record[second_version ? 0 : 14]);
  onto_ethernet(out, header, protocol, address_bytes == kMacBytes ? record.subspan(address_at, kMacBytes) : Bytes{});
}

// Puts an Ethernet header in the place of the first bytes.
void CaptureReader::onto_ethernet(CapturedFrame& out, std::size_t header_bytes, std::uint16_t ether_type,
                                  Bytes source_mac) {
  const Bytes packet = out.bytes.subspan(header_bytes);
  on_ethernet_.assign(kEthernetBytes, 0);
  std::copy(source_mac.begin(), source_mac.end(), on_ethernet_.begin() + kMacBytes);
  store_be16(&on_ethernet_[2 * kMacBytes], ether_type);
  on_ethernet_.insert(on_ethernet_.end(), packet.begin(), packet.end());
  const std::uint64_t wire_bytes = out.wire_bytes - header_bytes + kEthernetBytes;
  out.wire_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(wire_bytes, 0xffffffff));
  out.bytes = on_ethernet_;
}

}  // namespace rxnic
