// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/ended_by_rtl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace rxnic {

namespace {

constexpr int kRtlStatus = 4;  // as LockstepError
constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
std::string g_said;
std::array<char, 64 << 10> g_stack;  // the one of the run may have ended

void say_and_end(int) {
  (void)!write(STDERR_FILENO, g_said.data(), g_said.size());
  _exit(kRtlStatus);
}

}  // namespace

void tell_what_rtl_ends(const std::string& blocks, bool in_place) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // (R2)
#endif
  g_said = fmt::format("rxnic: RTL of {} has ended the run in its middle{}\n", blocks,
                       in_place ? ": it aborted, or gave a value that the model cannot go on with. --lockstep "
                                  "BLOCK=FILE names the first value that differs"
                                : ": it aborted");
  stack_t stack{};
  stack.ss_sp = g_stack.data();
  stack.ss_size = g_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = &say_and_end;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace rxnic
