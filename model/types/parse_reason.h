// SPDX-License-Identifier: Apache-2.0
// Why a packet that parse() refuses is dropped.
#pragma once

#include "model/types/drop_reason.h"
#include "model/types/wire.h"

namespace rxnic {

// kNone: it is not dropped, or it is not RDMA.
constexpr DropReason reason_of(ParseStatus status) {
  switch (status) {
    case ParseStatus::kOk:
    case ParseStatus::kNotRdma:
      return DropReason::kNone;
    case ParseStatus::kFragment:
      return DropReason::kFragment;
    case ParseStatus::kExtensionHeader:
      return DropReason::kExtensionHeader;
    case ParseStatus::kTooShort:
      return DropReason::kTooShort;
    case ParseStatus::kBadLength:
      return DropReason::kBadLength;
    case ParseStatus::kUnknownOpcode:
      return DropReason::kUnknownOpcode;
    case ParseStatus::kVendorOpcode:
      return DropReason::kVendorOpcode;
    case ParseStatus::kMissingHeaders:
      return DropReason::kMissingHeaders;
    case ParseStatus::kPad:
      return DropReason::kPad;
  }
  return DropReason::kNone;
}

}  // namespace rxnic
