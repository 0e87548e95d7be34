// SPDX-License-Identifier: Apache-2.0
// Notices a program of a run that was started with an LD_PRELOAD of its own, as the usual line for rsockets does
// (LD_PRELOAD=.../librspreload.so PROGRAM). Such a program lacks librxnic_device_files.so and finds no rdma_cm, and
// librspreload then takes ordinary sockets.
//
//   R1  Such a program still loads the drop-in libibverbs, which writes program and LD_PRELOAD into a file
//       (bridge/verbs/lost_preload.cpp). The file is kFile in the folder of the device files; when it exists, nothing
//       is written. The first program of a run counts.
//   R2  Nothing that the file holds is trusted: control characters are question marks, and 4 KiB of it are shown.
#pragma once

#include <filesystem>
#include <string>

namespace rxnic {

class LostPreload {
 public:
  static constexpr const char* kFile = "preload_lost";

  // `folder`: of the device files; empty: there are none. `preloaded`: the library that is missed.
  LostPreload(const std::string& folder, std::string preloaded)
      : file_(folder.empty() ? std::filesystem::path() : std::filesystem::path(folder) / kFile),
        preloaded_(std::move(preloaded)) {}
  // What the user should know, once; otherwise empty.
  std::string news();

 private:
  std::filesystem::path file_;  // empty: there is nothing to look at any more
  std::string preloaded_;
};

}  // namespace rxnic
