// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/own_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "bridge/channel/socket.h"
#include "bridge/driver/attributes.h"

namespace rxnic {

namespace {

constexpr std::uint8_t kNarrowest = 24;  // prefix bits

[[noreturn]] void fail(const std::string& what, int error, const char* help = "") {
  throw std::runtime_error(
      fmt::format("--network own: {}: {}{}; --network host does without", what, std::strerror(error), help));
}

void write_line(const std::string& path, const std::string& line) {
  const channel::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fail(path, errno);
  }
}

// (R2)
void leave_host_network() {
  if (unshare(CLONE_NEWNET) == 0) return;
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    fail("the kernel refuses a network namespace", errno,
         " (it takes root, or user namespaces for everybody: user.max_user_namespaces,\n"
         "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp "
         "profile)");
  }
  write_line("/proc/self/setgroups", "deny");
  write_line("/proc/self/uid_map", fmt::format("{0} {0} 1", user));
  write_line("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
}

void give_up_capabilities() {
  if (geteuid() == 0) return;  // root has them in any namespace
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &header, none.data()) != 0) fail("capset", errno);
}

// A message of rtnetlink(7).
class RouteMessage {
 public:
  template <class Body>
  RouteMessage(std::uint16_t type, std::uint16_t flags, const Body& body) {
    const nlmsghdr header{0, type, static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags), 1, 0};
    append(&header, sizeof header);
    append(&body, sizeof body);
  }
  void add(std::uint16_t type, const void* data, std::size_t bytes) {
    const rtattr header{static_cast<std::uint16_t>(RTA_LENGTH(bytes)), type};
    append(&header, sizeof header);
    append(data, bytes);
  }
  void add(std::uint16_t type, const std::string& text) { add(type, text.c_str(), text.size() + 1); }
  // 0, or the errno of the kernel's answer.
  int send(const channel::Descriptor& socket) {
    const auto bytes = static_cast<std::uint32_t>(size_);
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &bytes, sizeof bytes);
    if (::send(socket.get(), bytes_.data(), size_, 0) < 0) return errno;
    struct {
      nlmsghdr header;
      nlmsgerr error;
      std::array<std::uint8_t, 1024> request;  // repeated in the answer
    } answer;
    const ssize_t got = ::recv(socket.get(), &answer, sizeof answer, 0);
    if (got < 0) return errno;
    if (got < static_cast<ssize_t>(sizeof answer.header + sizeof answer.error.error)) return EPROTO;
    return answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
  }

 private:
  void append(const void* data, std::size_t bytes) {
    std::memcpy(bytes_.data() + size_, data, bytes);
    size_ += NLMSG_ALIGN(bytes);
  }
  alignas(nlmsghdr) std::array<std::uint8_t, 512> bytes_{};  // several times what the longest one takes
  std::size_t size_ = 0;
};

void add_attributes(RouteMessage& request, const Mac& mac) {
  request.add(IFLA_ADDRESS, mac.data(), mac.size());
  request.add(IFLA_MTU, &kInterfaceMtu, sizeof kInterfaceMtu);
}

// With its MAC and MTU, which an ifb has from its beginning or never.
int make_link(const channel::Descriptor& socket, const std::string& name, const char* kind, const Mac& mac) {
  RouteMessage request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
  request.add(IFLA_IFNAME, name);
  add_attributes(request, mac);
  const std::size_t length = std::strlen(kind);
  std::array<std::uint8_t, 32> nested{};
  const rtattr header{static_cast<std::uint16_t>(RTA_LENGTH(length)), IFLA_INFO_KIND};
  std::memcpy(nested.data(), &header, sizeof header);
  std::memcpy(nested.data() + sizeof header, kind, length);
  request.add(IFLA_LINKINFO, nested.data(), RTA_SPACE(length));
  return request.send(socket);
}

int make_tap(const channel::Descriptor& socket, const std::string& name, const Mac& mac) {
  const channel::Descriptor tun(::open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  if (!tun) return errno;
  ifreq request{};
  std::copy(name.begin(), name.end(), request.ifr_name);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(tun.get(), TUNSETIFF, &request) != 0 || ioctl(tun.get(), TUNSETPERSIST, 1) != 0) return errno;
  ifinfomsg link{};
  link.ifi_index = static_cast<int>(if_nametoindex(name.c_str()));
  RouteMessage attributes(RTM_NEWLINK, 0, link);
  add_attributes(attributes, mac);
  return attributes.send(socket);
}

// (R3)
void make_interface(const channel::Descriptor& socket, const std::string& name, const Mac& mac) {
  int error = 0;
  for (const char* kind : {"dummy", "ifb", "bridge"}) {
    error = make_link(socket, name, kind, mac);
    if (error == 0) return;
  }
  if (make_tap(socket, name, mac) == 0) return;
  fail("the kernel has no kind of interface for " + name + " (dummy, bridge, ifb, tap)", error);
}

void set_up(const channel::Descriptor& socket, const std::string& name) {
  ifinfomsg link{};
  link.ifi_index = static_cast<int>(if_nametoindex(name.c_str()));
  link.ifi_flags = link.ifi_change = IFF_UP;
  if (const int error = RouteMessage(RTM_NEWLINK, 0, link).send(socket); error != 0) fail(name + ": up", error);
}

int add_address(const channel::Descriptor& socket, const std::string& name, std::span<const std::uint8_t> address,
                std::uint8_t prefix) {
  const bool v4 = address.size() == 4;
  ifaddrmsg body{};
  body.ifa_family = v4 ? AF_INET : AF_INET6;
  body.ifa_prefixlen = prefix;
  body.ifa_flags = v4 ? 0 : IFA_F_NODAD;
  body.ifa_scope = v4 ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
  body.ifa_index = if_nametoindex(name.c_str());
  RouteMessage request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, body);
  request.add(IFA_LOCAL, address.data(), address.size());
  request.add(IFA_ADDRESS, address.data(), address.size());
  return request.send(socket);
}

}  // namespace

std::uint8_t prefix_bits(std::uint32_t nics, NicAddresses addresses) {
  const std::uint32_t differing = addresses.first ^ (addresses.first + nics - 1);
  return std::min<std::uint8_t>(kNarrowest, static_cast<std::uint8_t>(std::countl_zero(differing)));
}

void enter_own_network(std::uint32_t nics, NicAddresses addresses) {
  leave_host_network();
  const channel::Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) fail("rtnetlink", errno);
  set_up(socket, "lo");
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    const std::string name = fmt::format("rxnic{}", nic);
    const auto gids = nic_gids(nic, addresses);
    make_interface(socket, name, nic_mac(nic));
    set_up(socket, name);
    const int error = add_address(socket, name, std::span(gids[2].bytes).last(4), prefix_bits(nics, addresses));
    if (error != 0) fail(name + ": " + addresses.of(nic).text(), error);
    add_address(socket, name, gids[0].bytes, 64);  // may fail: where IPv6 is switched off there is none
  }
  give_up_capabilities();
}

}  // namespace rxnic
