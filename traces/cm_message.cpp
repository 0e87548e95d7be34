// SPDX-License-Identifier: Apache-2.0
#include "traces/cm_message.h"

namespace rxnic {
namespace {
constexpr std::size_t kMadHeaderBytes = 24;
constexpr std::uint8_t kCmClass = 0x07;
constexpr std::uint8_t kCmClassVersion = 2;
constexpr std::uint16_t kReq = 0x0010;
constexpr std::uint16_t kRep = 0x0013;

std::uint32_t load_be24(const std::uint8_t* p) { return load_be32(p) >> 8; }
}  // namespace

std::optional<CmMessage> parse_cm(Bytes mad) {
  if (mad.size() < kMadBytes || mad[1] != kCmClass || mad[2] != kCmClassVersion) return std::nullopt;
  const std::uint16_t attribute = load_be16(&mad[16]);
  if (attribute != kReq && attribute != kRep) return std::nullopt;
  const std::uint8_t* p = mad.data() + kMadHeaderBytes;
  CmMessage m;
  m.local_id = load_be32(p);
  if (attribute == kReq) {
    m.local_qpn = Qpn{load_be24(p + 32)};
    m.responder_resources = p[35];
    m.starting_psn = Psn{load_be24(p + 44)};
    if (const unsigned code = p[50] >> 4; is_mtu_code(code)) m.mtu = mtu_of_code(code);
  } else {
    m.reply = true;
    m.remote_id = load_be32(p + 4);
    m.local_qpn = Qpn{load_be24(p + 12)};
    m.starting_psn = Psn{load_be24(p + 20)};
    m.responder_resources = p[24];
  }
  return m;
}

}  // namespace rxnic
