// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/drop_rules.h"

namespace rxnic {

std::string_view rule_of(DropReason reason) {
  switch (reason) {
    case DropReason::kNone:
    case DropReason::kRxBufferFull:        // the size of a memory
    case DropReason::kTruncatedInCapture:  // no fault of the packet
    case DropReason::kHostMemory:          // a fault of the host
    case DropReason::kCount:
      return "";
    case DropReason::kTooShort:
    case DropReason::kBadLength:
    case DropReason::kFragment:
    case DropReason::kExtensionHeader:
    case DropReason::kVcrc:
    case DropReason::kIpChecksum:
    case DropReason::kUdpChecksum:
    case DropReason::kDestinationAddress:
    case DropReason::kUnknownOpcode:
    case DropReason::kVendorOpcode:
    case DropReason::kMissingHeaders:
    case DropReason::kPad:
    case DropReason::kVersion:
    case DropReason::kQpnZero:
    case DropReason::kMulticastNotAttached:
    case DropReason::kQpNotFound:
    case DropReason::kQpTypeOrState:
    case DropReason::kQpAddress:
    case DropReason::kPkey:
    case DropReason::kQkey:
    case DropReason::kIcrc:
      return "6.1";
    case DropReason::kPsnAhead:
    case DropReason::kUcSequence:
    case DropReason::kInvalidRequest:
    case DropReason::kNoReceiveWqe:
    case DropReason::kWqeStoreFull:
    case DropReason::kRemoteAccess:
    case DropReason::kMessageTooLong:
    case DropReason::kUnsolicitedAnswer:
      return "6.2";
    case DropReason::kTooLong:
      return "6.3";
    case DropReason::kDuplicateUnsaved:
      return "6.4";
    case DropReason::kInvalidation:
      return "6.6";
    case DropReason::kLocalOperation:
    case DropReason::kSquashed:
      return "6.7";
    case DropReason::kRendezvousFull:
      return "5.7";
    case DropReason::kCqOverrun:
      return "3.2";
  }
  return "";
}

std::string_view rule_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kExecute:
    case Outcome::kNak:
      return "6.2";
    case Outcome::kAckAgain:
    case Outcome::kReplay:
      return "6.4";
    case Outcome::kUndecided:
    case Outcome::kAnswer:
    case Outcome::kDrop:
      return "";
  }
  return "";
}

}  // namespace rxnic
