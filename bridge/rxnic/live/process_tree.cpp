// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/process_tree.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "bridge/channel/doorkeeper.h"
#include "bridge/channel/socket.h"
#include "bridge/rxnic/live/cm_agent.h"

namespace rxnic {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kGenerations = 100;
constexpr useconds_t kLookUs = 1000;

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;
  long threads = 0;
};

// Nothing: there is no such process, or it has ended and waits for its parent to take notice. (R4)
std::optional<Process> look_at(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;                // "pid (name) state parent ...", the number of threads in the 20th place
  std::getline(file, text, '\0');  // a process that ends meanwhile: a failed read, which a stream's buffer would throw
  const std::size_t name = text.find('('), after_name = text.rfind(") ");
  if (name == std::string::npos || after_name == std::string::npos || text.size() < after_name + 5) return std::nullopt;
  Process process{pid, 0, text.substr(name + 1, after_name - name - 1), 0};
  std::istringstream rest(text.substr(after_name + 2));
  char state = 0;
  rest >> state >> process.parent;
  std::string other;
  for (int place = 5; place < 20; ++place) rest >> other;
  rest >> process.threads;
  const bool ended = state == 'Z' || state == 'X';
  return ended && process.threads <= 1 ? std::nullopt : std::optional(process);
}

// "": it runs none any more. Nothing: it does not show it.
std::optional<std::string> program_of(const std::string& pid) {
  std::error_code failed;
  std::string program = std::filesystem::read_symlink("/proc/" + pid + "/exe", failed);
  if (!failed) return program;
  const bool none = failed.value() == ENOENT || failed.value() == ESRCH;
  return none ? std::optional<std::string>("") : std::nullopt;
}

// (R3) The name alone is anybody's.
bool is_doorkeeper(const Process& process) {
  static const std::string kOwn = program_of("self").value_or(""), kAgent = CmAgent::program();
  if (process.name != channel::Doorkeeper::kName) return false;
  const std::optional<std::string> program = program_of(std::to_string(process.pid));
  const bool ends = program && program->empty() && process.threads <= 1;
  return ends || (program && (program == kOwn || program == kAgent));
}

// Parents before their children.
std::vector<Process> descendants() {
  std::vector<Process> all;
  std::error_code gone;  // a process may end while it is looked at
  for (std::filesystem::directory_iterator at("/proc", gone), end; at != end; at.increment(gone)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    auto process = look_at(std::atoi(name.c_str()));
    if (process && !is_doorkeeper(*process)) all.push_back(std::move(*process));
  }
  std::vector<Process> below = {{getpid(), 0, {}, 0}};
  for (std::size_t i = 0; i < below.size(); ++i) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(below),
                 [parent = below[i].pid](const Process& p) { return p.parent == parent; });
  }
  below.erase(below.begin());
  return below;
}

// (R2) The descriptor holds the process. It is the process that was found as long as it has the same parent. Its parent
// may also be this process, because its own parent has ended meanwhile (R1).
bool send_signal(const Process& process, int signal) {
  const channel::Descriptor held(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  const auto now = look_at(process.pid);
  return held && now && (now->parent == process.parent || now->parent == getpid()) &&
         syscall(SYS_pidfd_send_signal, held.get(), signal, nullptr, 0) == 0;
}

std::string name_of(const Process& p) { return fmt::format("process {} ({})", p.pid, p.name); }

// Those that it has reached.
std::vector<Process> send_to_all(int signal) {
  std::vector<Process> all = descendants();
  std::erase_if(all, [signal](const Process& p) { return !send_signal(p, signal); });
  return all;
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGCHLD, SIG_DFL);  // who ignores it has no status to wait for
}

std::vector<std::string> signal_descendants(int signal) {
  std::vector<std::string> names;
  for (const Process& p : send_to_all(signal)) names.push_back(name_of(p));
  return names;
}

bool has_descendants() { return !descendants().empty(); }

Killed kill_descendants(const std::function<void(pid_t, int)>& on_end) {
  // What was started meanwhile comes in turn, and whose parents had to end first.
  Killed result;
  std::map<pid_t, Clock::time_point> victims;  // since when
  for (int generation = 0; generation < kGenerations;) {
    bool waits = false, more = false;
    result.not_gone.clear();
    for (const Process& p : send_to_all(SIGKILL)) {
      const auto [victim, is_new] = victims.try_emplace(p.pid, Clock::now());
      if (is_new) result.names.push_back(name_of(p));
      more |= is_new;
      if (Clock::now() - victim->second < kPatience) {
        waits = true;
      } else {
        result.not_gone.push_back(name_of(p));
      }
    }
    for (auto victim = victims.begin(); victim != victims.end();) {
      int status = 0;
      const pid_t ended = waitpid(victim->first, &status, WNOHANG);
      waits |= ended > 0 || (ended == 0 && Clock::now() - victim->second < kPatience);
      if (ended > 0) on_end(ended, status);
      victim = ended > 0 ? victims.erase(victim) : std::next(victim);
    }
    if (!waits) break;
    if (more) ++generation;
    usleep(kLookUs);
  }
  return result;
}

}  // namespace rxnic
