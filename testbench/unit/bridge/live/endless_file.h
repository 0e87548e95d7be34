// SPDX-License-Identifier: Apache-2.0
// A file whose close never ends (testbench/live/fuse_file.py), and processes of which nothing is waited for.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "bridge/channel/packet.h"

namespace rxnic {

// path() is empty where such a file system is not permitted. To be opened by children alone: who closes it waits.
class EndlessFile {
 public:
  explicit EndlessFile(const char* name = "file", const char* unanswered = "25") {
    const std::string script = std::filesystem::path(__FILE__).parent_path() / "../../../live/fuse_file.py";
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    server_ = fork();
    if (server_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execlp("python3", "python3", "-B", script.c_str(), name, unanswered, nullptr);
      _exit(127);
    }
    close(ends[1]);
    const channel::Descriptor output(ends[0]);
    char letter = 0;
    while (read(output.get(), &letter, 1) == 1 && letter != '\n') path_ += letter;
    if (!path_.starts_with('/')) path_.clear();
  }
  EndlessFile(const EndlessFile&) = delete;
  EndlessFile& operator=(const EndlessFile&) = delete;
  ~EndlessFile() { release(); }

  const std::string& path() const { return path_; }
  // All closes end.
  void release() {
    if (server_ <= 0) return;
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
    server_ = 0;
  }
  // A child that opens the file, does `with_file` and is left to its end.
  template <class F>
  pid_t in_child(F with_file) const {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    with_file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
    _exit(0);
  }

 private:
  pid_t server_ = 0;
  std::string path_;
};

}  // namespace rxnic
