// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/qp_rules.h"

#include <cerrno>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kInitConnected = kAttrPkeyIndex | kAttrPort | kAttrAccess;
constexpr std::uint32_t kInitDatagram = kAttrPkeyIndex | kAttrPort | kAttrQkey;
constexpr std::uint32_t init(QpType t) {
  return connects(t) ? kInitConnected : t == QpType::kUd ? kInitDatagram : std::uint32_t{kAttrPort};
}

// Sides of a reliable transport that a QP has.
constexpr bool requests(QpType t) { return t == QpType::kRc || t == QpType::kXrcSend; }
constexpr bool responds(QpType t) { return t == QpType::kRc || t == QpType::kXrcReceive; }

QpRule reset_to_init(QpType t) { return {true, init(t), 0}; }

QpRule init_to_init(QpType t) { return {true, 0, init(t)}; }

QpRule init_to_rtr(QpType t) {
  if (t == QpType::kRawPacket) return {true, 0, 0};
  if (t == QpType::kUd) return {true, 0, kAttrPkeyIndex | kAttrQkey};
  std::uint32_t required = kAttrPath | kAttrPathMtu | kAttrRemoteQpn | kAttrRqPsn;
  if (responds(t)) required |= kAttrMaxDestRdAtomic | kAttrMinRnrTimer;
  return {true, required, kAttrAccess | kAttrPkeyIndex};
}

// Attributes that may change on the way to RTS, and in it.
std::uint32_t working(QpType t) {
  switch (t) {
    case QpType::kRc:
    case QpType::kXrcReceive:
      return kAttrCurrentState | kAttrAccess | kAttrMinRnrTimer;
    case QpType::kUc:
    case QpType::kXrcSend:
      return kAttrCurrentState | kAttrAccess;
    case QpType::kUd:
      return kAttrCurrentState | kAttrQkey;
    case QpType::kRawPacket:
      return kAttrCurrentState;
  }
  return 0;
}

QpRule rtr_to_rts(QpType t) {
  if (t == QpType::kRawPacket) return {true, 0, working(t)};
  std::uint32_t required = kAttrSqPsn;
  if (requests(t)) required |= kAttrTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrMaxRdAtomic;
  if (t == QpType::kXrcReceive) required |= kAttrTimeout;
  return {true, required, working(t)};
}

QpRule in_sqd(QpType t) {
  if (t == QpType::kRawPacket) return {true, 0, 0};
  if (t == QpType::kUd) return {true, 0, kAttrPkeyIndex | kAttrQkey};
  std::uint32_t optional = kAttrPath | kAttrAccess | kAttrPkeyIndex;
  if (requests(t)) optional |= kAttrPort | kAttrTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrMaxRdAtomic;
  if (responds(t)) optional |= kAttrPort | kAttrTimeout | kAttrMaxDestRdAtomic | kAttrMinRnrTimer;
  return {true, 0, optional};
}

QpRule sqe_to_rts(QpType t) {
  if (!has_send_error_state(t)) return {};
  if (t == QpType::kRawPacket) return {true, 0, kAttrCurrentState};
  return {true, 0, kAttrCurrentState | (t == QpType::kUd ? kAttrQkey : kAttrAccess)};
}

bool may_name_its_state(QpState s) { return s >= QpState::kRtr && s <= QpState::kSqe; }

bool in_range(const channel::QpAttributes& a, std::uint32_t max_rd_atomic) {  // (R4)
  const auto wrong = [&a](QpAttribute attribute, bool bad) { return (a.mask & attribute) != 0 && bad; };
  return !(wrong(kAttrPort, a.port != 1) || wrong(kAttrPkeyIndex, a.pkey_index != 0) ||
           wrong(kAttrAccess, (a.access & ~kAccessKnown) != 0) || wrong(kAttrPathMtu, !is_mtu_code(a.path_mtu)) ||
           wrong(kAttrTimeout, a.timeout > 31) || wrong(kAttrMinRnrTimer, a.min_rnr_timer > kMaxRnrTimer) ||
           wrong(kAttrRetryCount, a.retry_count > 7) || wrong(kAttrRnrRetry, a.rnr_retry > 7) ||
           wrong(kAttrMaxRdAtomic, a.max_rd_atomic > max_rd_atomic) ||
           wrong(kAttrMaxDestRdAtomic, a.max_dest_rd_atomic > max_rd_atomic) || wrong(kAttrRqPsn, a.rq_psn > k24Bits) ||
           wrong(kAttrSqPsn, a.sq_psn > k24Bits) || wrong(kAttrRemoteQpn, a.remote_qpn > k24Bits) ||
           wrong(kAttrPath, a.is_global == 0 || a.path.source_gid_index >= channel::kGids - 1));
}

}  // namespace

QpRule qp_rule(QpType type, QpState from, QpState to) {
  if (to == QpState::kReset) return {true, 0, 0};
  if (to == QpState::kError) return {from != QpState::kReset, 0, 0};
  switch (from) {
    case QpState::kReset:
      return to == QpState::kInit ? reset_to_init(type) : QpRule{};
    case QpState::kInit:
      return to == QpState::kInit ? init_to_init(type) : to == QpState::kRtr ? init_to_rtr(type) : QpRule{};
    case QpState::kRtr:
      return to == QpState::kRts ? rtr_to_rts(type) : QpRule{};
    case QpState::kRts:
      if (to == QpState::kRts) return {true, 0, working(type)};
      return to == QpState::kSqd ? QpRule{true, 0, kAttrDrainedNotify} : QpRule{};
    case QpState::kSqd:
      if (to == QpState::kRts) return {true, 0, working(type)};
      return to == QpState::kSqd ? in_sqd(type) : QpRule{};
    case QpState::kSqe:
      return to == QpState::kRts ? sqe_to_rts(type) : QpRule{};
    case QpState::kError:
      return {};
  }
  return {};
}

bool has_send_error_state(QpType type) { return !requests(type) && !responds(type); }

std::uint32_t without_ignored(QpType type, std::uint32_t mask) {
  if (type == QpType::kXrcSend) return mask & ~(kAttrMaxDestRdAtomic | kAttrMinRnrTimer);
  if (type == QpType::kXrcReceive) return mask & ~(kAttrMaxRdAtomic | kAttrRetryCount | kAttrRnrRetry);
  return mask;
}

int check_modify(QpType type, QpState state, const channel::QpAttributes& asked, std::uint32_t max_rd_atomic,
                 QpState& next) {
  next = state;
  if ((asked.mask & kAttrState) != 0) {
    if (asked.state > static_cast<std::uint32_t>(QpState::kError)) return EINVAL;
    next = static_cast<QpState>(asked.state);
  }
  if ((asked.mask & kAttrCurrentState) != 0) {  // (R3)
    if (asked.current_state != static_cast<std::uint32_t>(state) || !may_name_its_state(state)) return EINVAL;
  }
  const QpRule rule = qp_rule(type, state, next);
  const std::uint32_t attributes = asked.mask & ~kAttrState;
  if (!rule.allowed) return EINVAL;                                         // (R1)
  if ((attributes & rule.required) != rule.required) return EINVAL;         // (R2)
  if ((attributes & ~(rule.required | rule.optional)) != 0) return EINVAL;  // (R2) (R5)
  return in_range(asked, max_rd_atomic) ? 0 : EINVAL;
}

}  // namespace rxnic
