// SPDX-License-Identifier: Apache-2.0
// Numbers that control messages carry "as verbs" (protocol.h R4): those of the enums of <infiniband/verbs.h>, which
// this floor does not include.
#pragma once

#include <cstdint>

#include "model/types/context.h"

namespace rxnic {

// ibv_qp_type
enum class QpType : std::uint32_t { kRc = 2, kUc = 3, kUd = 4, kRawPacket = 8, kXrcSend = 9, kXrcReceive = 10 };
constexpr bool connects(QpType t) { return t != QpType::kUd && t != QpType::kRawPacket; }
constexpr bool is_xrc(QpType t) { return t == QpType::kXrcSend || t == QpType::kXrcReceive; }
constexpr Transport transport_of(QpType t) {
  if (is_xrc(t)) return Transport::kXrc;
  if (t == QpType::kRawPacket) return Transport::kRaw;
  return t == QpType::kRc ? Transport::kRc : t == QpType::kUc ? Transport::kUc : Transport::kUd;
}

// ibv_qp_attr_mask
enum QpAttribute : std::uint32_t {
  kAttrState = 1u << 0,
  kAttrCurrentState = 1u << 1,
  kAttrDrainedNotify = 1u << 2,
  kAttrAccess = 1u << 3,
  kAttrPkeyIndex = 1u << 4,
  kAttrPort = 1u << 5,
  kAttrQkey = 1u << 6,
  kAttrPath = 1u << 7,
  kAttrPathMtu = 1u << 8,
  kAttrTimeout = 1u << 9,
  kAttrRetryCount = 1u << 10,
  kAttrRnrRetry = 1u << 11,
  kAttrRqPsn = 1u << 12,
  kAttrMaxRdAtomic = 1u << 13,
  kAttrMinRnrTimer = 1u << 15,
  kAttrSqPsn = 1u << 16,
  kAttrMaxDestRdAtomic = 1u << 17,
  kAttrRemoteQpn = 1u << 20,
};

// ibv_qp_state is numbered as QpState.
static_assert(static_cast<int>(QpState::kReset) == 0 && static_cast<int>(QpState::kInit) == 1 &&
              static_cast<int>(QpState::kRtr) == 2 && static_cast<int>(QpState::kRts) == 3 &&
              static_cast<int>(QpState::kSqd) == 4 && static_cast<int>(QpState::kSqe) == 5 &&
              static_cast<int>(QpState::kError) == 6);

// ibv_access_flags: the low four are AccessFlag's.
inline constexpr std::uint32_t kAccessRights = 0xf;
inline constexpr std::uint32_t kAccessBindWindow = 1u << 4;
inline constexpr std::uint32_t kAccessZeroBased = 1u << 5;
inline constexpr std::uint32_t kAccessOnDemand = 1u << 6;
inline constexpr std::uint32_t kAccessHugePages = 1u << 7;
inline constexpr std::uint32_t kAccessOptional = 0x3ff0'0000;  // IBV_ACCESS_OPTIONAL_RANGE: may be ignored
inline constexpr std::uint32_t kAccessKnown =
    kAccessRights | kAccessBindWindow | kAccessZeroBased | kAccessOnDemand | kAccessHugePages | kAccessOptional;

// ibv_rereg_mr_flags
enum ReregFlag : std::uint32_t { kReregTranslation = 1u << 0, kReregPd = 1u << 1, kReregAccess = 1u << 2 };

// ibv_advise_mr_advice, and its flag
inline constexpr std::uint32_t kAdvicePrefetchWrite = 1, kAdvicePrefetchNoFault = 2;
inline constexpr std::uint32_t kAdviceFlush = 1;

// ibv_mw_type
inline constexpr std::uint32_t kWindowType1 = 1, kWindowType2 = 2;

// ibv_srq_type
inline constexpr std::uint32_t kSrqBasic = 0, kSrqXrc = 1, kSrqTagMatching = 2;

}  // namespace rxnic
