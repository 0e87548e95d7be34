// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/device_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "bridge/driver/attributes.h"
#include "model/params/private_file.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

void write_attribute(const fs::path& path, const std::string& line) {
  make_private_folder(path.parent_path());
  std::FILE* const file = open_to_write(path);
  const bool whole = std::fputs((line + '\n').c_str(), file) >= 0;
  if (std::fclose(file) != 0 || !whole) throw Unwritable(path.string(), std::strerror(errno));
}

// Four digits, a colon...: as the kernel prints GUIDs and GIDs.
template <class ByteArray>
std::string in_groups(const ByteArray& bytes) {
  std::string text;
  for (std::size_t n = 0; n < bytes.size(); n += 2) {
    text += fmt::format("{}{:02x}{:02x}", n == 0 ? "" : ":", bytes[n], bytes[n + 1]);
  }
  return text;
}

void write_port(const fs::path& port, const std::string& name, const channel::DeviceAttributes& a) {
  write_attribute(port / "state", "4: ACTIVE");
  write_attribute(port / "phys_state", "5: LinkUp");
  write_attribute(port / "link_layer", "Ethernet");
  write_attribute(port / "rate", fmt::format("{} Gb/sec", a.link_mbps / 1000));
  for (const char* zero : {"lid", "sm_lid"}) write_attribute(port / zero, "0x0");
  for (const char* zero : {"lid_mask_count", "sm_sl"}) write_attribute(port / zero, "0");
  write_attribute(port / "pkeys" / "0", "0xffff");
  for (std::size_t n = 0; n < a.gids.size(); ++n) {
    const channel::Gid& gid = a.gids[n];
    write_attribute(port / "gids" / std::to_string(n), in_groups(gid.bytes));
    if (gid.type == channel::GidType::kNone) continue;  // reading its attributes fails
    const bool v1 = gid.type == channel::GidType::kRoceV1;
    write_attribute(port / "gid_attrs" / "types" / std::to_string(n), v1 ? "IB/RoCE v1" : "RoCE v2");
    write_attribute(port / "gid_attrs" / "ndevs" / std::to_string(n), name);
  }
}

void write_nic(const fs::path& folder, std::uint32_t nic, const channel::DeviceAttributes& a) {
  const std::string name = fmt::format("rxnic{}", nic);
  std::array<std::uint8_t, 8> guid{};
  std::memcpy(guid.data(), &a.node_guid, guid.size());

  const fs::path device = folder / "dev" / "infiniband" / name;
  make_private_folder(device.parent_path());
  fs::remove(device);
  fs::create_symlink("/dev/null", device);

  const fs::path classes = folder / "sys" / "class";
  const fs::path verbs = classes / "infiniband" / name;
  write_attribute(verbs / "node_type", "1: CA");
  write_attribute(verbs / "node_desc", name);
  write_attribute(verbs / "node_guid", in_groups(guid));
  write_attribute(verbs / "sys_image_guid", in_groups(guid));
  write_attribute(verbs / "hca_type", "rxnic");
  write_attribute(verbs / "device" / "numa_node", "-1");
  write_port(verbs / "ports" / "1", name, a);
  write_attribute(classes / "infiniband_verbs" / name / "ibdev", name);
  write_attribute(classes / "infiniband_verbs" / name / "abi_version", "1");
  write_attribute(classes / "infiniband_verbs" / "abi_version", "6");

  make_private_folder(verbs / "device" / "net" / name);
  const fs::path net = classes / "net" / name;
  write_attribute(net / "address", fmt::format("{:02x}", fmt::join(a.mac.begin(), a.mac.begin() + 6, ":")));
  write_attribute(net / "mtu", std::to_string(kInterfaceMtu));
  write_attribute(net / "operstate", "up");
  write_attribute(net / "speed", std::to_string(a.link_mbps));
}

void write_lo(const fs::path& net) {
  write_attribute(net / "address", "00:00:00:00:00:00");
  write_attribute(net / "mtu", "65536");
  write_attribute(net / "operstate", "unknown");
}

}  // namespace

std::string write_device_files(const SessionOptions& o, const Params& params, bool own_network,
                               const std::function<void(const std::string&)>& say) {
  const fs::path folder = fs::absolute(o.out).lexically_normal() / "device_files";
  try {
    fs::remove_all(folder);  // of a run before, which may have had more NICs
    for (std::uint32_t nic = 0; nic < o.nics; ++nic)
      write_nic(folder, nic, device_attributes(nic, params, o.addresses));
    fs::create_symlink("/dev/null", folder / "dev" / "infiniband" / "rdma_cm");  // opened by bridge/device_files
    if (own_network) write_lo(folder / "sys" / "class" / "net" / "lo");
    write_attribute(folder / "sys" / "class" / "misc" / "rdma_cm" / "abi_version", "4");
  } catch (const std::exception& e) {
    const auto* const where = dynamic_cast<const fs::filesystem_error*>(&e);
    const std::string why = where != nullptr ? where->path1().string() + ": " + where->code().message() : e.what();
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    say("programs are shown no files of their NICs: " + why);
    return "";
  }
  return folder.string();
}

}  // namespace rxnic
