// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/output/standard_streams.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace rxnic {

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one: those below it are open.
    [[maybe_unused]] const int opened = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  signal(SIGXFSZ, SIG_IGN);  // R3
}

void print_output(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
}

void print_message(const std::string& text) {
  const std::string line = "rxnic: " + text + '\n';
  std::fputs(line.c_str(), stderr);
}

}  // namespace rxnic
