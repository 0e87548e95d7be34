// SPDX-License-Identifier: Apache-2.0
// rxnic_cm_agent DESCRIPTOR: the agent on a socket that listens, inherited as this descriptor. RXNIC_SOCKET names the
// simulator. Exit 0: the agent has ended as agent.h R1 says. Exit 1: the agent could not begin: it says so on standard
// error, and closes the connections of the programs that wait.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "bridge/channel/acceptor.h"
#include "bridge/channel/protocol.h"
#include "bridge/cm/agent.h"

namespace {

// Where no process can be had for it either, the end of this one closes who waits.
void send_all_away(int listener) {
  using namespace rxnic::channel;
  try {
    Doorkeeper doorkeeper;
    Acceptor().turn_all_away(listener, doorkeeper);
  } catch (const std::exception&) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  int descriptor = -1;
  const char* const text = argc == 2 ? argv[1] : "";
  if (std::from_chars(text, text + std::strlen(text), descriptor).ec != std::errc() || descriptor < 0) {
    std::fputs("rxnic_cm_agent: found no descriptor; `rxnic run` and `rxnic serve` start it\n", stderr);
    return 1;
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  signal(SIGPIPE, SIG_IGN);                // of a program that has died, and whose events have no reader any more
  unsetenv(rxnic::channel::kNicVariable);  // it serves all NICs
  rlimit files{};                          // each connection takes two
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  const int listener = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  try {
    rxnic::cm::Agent(rxnic::channel::Descriptor(descriptor)).run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rxnic_cm_agent: %s\n", e.what());
    send_all_away(listener);
    return 1;
  }
  return 0;
}
