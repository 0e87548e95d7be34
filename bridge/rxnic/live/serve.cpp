// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/serve.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "bridge/live/descriptor_limit.h"
#include "bridge/rxnic/live/child_process.h"
#include "bridge/rxnic/live/cm_agent.h"
#include "bridge/rxnic/live/device_files.h"
#include "bridge/rxnic/live/library_folder.h"
#include "bridge/rxnic/live/live_source.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "model/params/config.h"

namespace rxnic {

namespace {

// How a program attaches, as a shell would say it.
std::string how_to_attach(const std::string& folder, const std::string& socket) {
  const bool has_file = !socket.starts_with('@');
  return fmt::format("LD_LIBRARY_PATH={} {}={} PROGRAM", folder, channel::kSocketVariable,
                     has_file ? std::filesystem::absolute(socket).string() : socket);
}

// How it sees the files of its NICs, too.
std::string how_to_see_files(const std::string& folder, const std::string& files) {
  return fmt::format("LD_PRELOAD={}/librxnic_device_files.so RXNIC_DEVICE_FILES={}", folder, files);
}

}  // namespace

int serve(const ServeOptions& o) {
  const Params params = load_config(o.config, o.overrides);
  const std::string folder = library_folder();
  make_folder("--out", o.out);
  const DescriptorLimit limit;
  SignalDescriptor signals;
  LiveSession* session = nullptr;
  LivePrograms* programs = nullptr;
  const auto on_signal = [&signals, &programs] {
    while (const auto signal = signals.take()) {
      if (signal->number != SIGCHLD) programs->stop();
    }
  };
  CmAgent agent(folder, o.socket);
  const auto on_tick = [&session, &agent] {
    session->tick();
    agent.tick();
  };
  LiveSource source(o, params, o.socket, {signals.descriptor(), on_signal, on_tick});
  const auto say = [&source](const std::string& why) { source.log.say(why); };
  const std::string files = write_device_files(o, params, false, say);
  LiveSession serving(o, params, source, files);
  if (!agent.error().empty()) serving.say(agent.error());
  programs = &source.programs;
  session = &serving;
  if (!o.quiet) {
    serving.say(
        fmt::format("{} NIC{}; programs attach with\n  {}\nthose that look for files of a driver (UCX, Open MPI) "
                    "or use rdma_cm besides with\n  {}",
                    o.nics, o.nics == 1 ? "" : "s", how_to_attach(folder, o.socket), how_to_see_files(folder, files)));
  }
  serving.run();
  return serving.finish() ? kDone : kOther;
}

}  // namespace rxnic
