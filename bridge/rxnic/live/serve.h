// SPDX-License-Identifier: Apache-2.0
// `rxnic serve`: a fabric that programs attach to and leave, until SIGINT, SIGTERM or SIGHUP.
#pragma once

#include <string>

#include "bridge/rxnic/live/live_session.h"

namespace rxnic {

struct ServeOptions : SessionOptions {
  std::string socket;  // path, or @name
};

int serve(const ServeOptions& options);

}  // namespace rxnic
