// SPDX-License-Identifier: Apache-2.0
// `rxnic run` and `rxnic serve`: their options.
#pragma once

#include "bridge/rxnic/command/cli_options.h"
#include "bridge/rxnic/command/rtl_options.h"
#include "bridge/rxnic/command/waves_options.h"
#include "bridge/rxnic/live/live_session.h"

namespace rxnic {

// Options of both.
class LiveCommand {
 public:
  void describe(CLI::App& app);

 protected:
  // Checks what can be checked before anything is started; makes the folder.
  SessionOptions options() const;

 private:
  CommonOptions common_;
  StepOrderOption step_order_;
  SessionOptions live_;
  WavesOption waves_;
  RtlOptions rtl_;
  std::string first_address_ = NicAddresses{}.of(0).text();
  std::string out_ = "rxnic-run";
  bool html_ = false;
};

class RunCommand : public LiveCommand {
 public:
  void describe(CLI::App& app);
  // The program's status.
  int run() const;

 private:
  static constexpr const char* kHostNetwork = "host";
  static constexpr const char* kOwnNetwork = "own";
  CLI::Option* nic_option_ = nullptr;
  std::uint32_t nic_ = 0;
  std::string grace_ = "2";
  bool no_device_files_ = false;
  std::string network_ = kHostNetwork;
  std::vector<std::string> program_;
};

class ServeCommand : public LiveCommand {
 public:
  void describe(CLI::App& app);
  int run() const;

 private:
  std::string socket_;
};

}  // namespace rxnic
