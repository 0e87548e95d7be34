// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/live_source.h"

#include <stdexcept>

#include "bridge/driver/attributes.h"

namespace rxnic {

namespace {

LiveOptions live_options(const SessionOptions& o, const Params& params, const std::string& address) {
  LiveOptions live;
  live.address = address;
  live.cycle_ps = params.nic.clock_period_ps;
  live.nics = o.nics;
  for (std::uint32_t nic = 0; nic < live.node_guids.size(); ++nic) live.node_guids[nic] = node_guid(nic);
  return live;
}

}  // namespace

LiveSource::LiveSource(const SessionOptions& o, const Params& params, const std::string& address, Hooks hooks)
    : log(o.out),
      programs([&] {
        LiveOptions live = live_options(o, params, address);
        live.extra = hooks.signals;
        live.on_extra = std::move(hooks.on_signal);
        live.on_tick = std::move(hooks.on_tick);
        live.on_death = std::move(hooks.on_death);
        live.log = [this](const std::string& line) { log.say(line); };
        live.note = [this](const std::string& line) { log.note(line); };
        return live;
      }()),
      memory(programs, {.gather = true}) {
  std::string error;
  if (!programs.open(error)) throw std::runtime_error(error);
}

}  // namespace rxnic
