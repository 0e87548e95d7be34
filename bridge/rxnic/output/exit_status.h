// SPDX-License-Identifier: Apache-2.0
// The exit statuses of rxnic.
#pragma once

namespace rxnic {

enum ExitStatus : int { kDone = 0, kOther = 1, kUsage = 2, kTrace = 3, kLockstep = 4, kNothingCompared = 5 };

}  // namespace rxnic
