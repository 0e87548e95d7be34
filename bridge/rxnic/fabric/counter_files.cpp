// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/fabric/counter_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/channel/socket.h"
#include "model/params/private_file.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 20;         // of the greatest number (R1)
constexpr std::uint64_t kBytesPerWord = 4;  // the kernel's unit of port_*_data
using Text = std::array<char, kDigits + 1>;

struct Row {
  const char* file;
  std::vector<const std::uint64_t*> counters;  // their sum is shown
  std::uint64_t unit = 1;                      // how much of it the file counts as one
};

// The names are those of InfiniBand's ports, and of mlx5's hw_counters. `bytes_sent`: of the NIC.
std::vector<Row> rows(const Nic& nic, const std::uint64_t& bytes_sent) {
  const RxParserCounters& parser = nic.rx_parser.counters();
  const AckGeneratorCounters& acks = nic.ack_generator.counters();
  const RequesterCounters& requester = nic.requester->counters();
  return {
      {"counters/port_rcv_packets", {&nic.rx_buffer.counters().packets}},
      {"counters/port_rcv_data", {&parser.bytes}, kBytesPerWord},
      {"counters/port_rcv_errors", {&parser.icrc_errors}},
      {"counters/port_xmit_packets",
       {&requester.packets, &acks.acks, &acks.naks, &acks.rnr_naks, &acks.read_responses, &acks.atomic_responses,
        &acks.cnps}},
      {"counters/port_xmit_data", {&bytes_sent}, kBytesPerWord},
      {"hw_counters/duplicate_request", {&nic.transport_checker.responder_counters().duplicates}},
      {"hw_counters/implied_nak_seq_err", {&nic.transport_checker.request_counters().gaps}},
      {"hw_counters/local_ack_timeout_err", {&requester.timeouts}},
      {"hw_counters/np_cnp_sent", {&acks.cnps}},
      {"hw_counters/np_ecn_marked_roce_packets", {&parser.ecn_marked}},
      {"hw_counters/out_of_buffer", {&nic.srq_wqe_fetcher.counters().no_wqe}},
      {"hw_counters/resp_remote_access_errors", {&nic.address_translator.counters().remote_errors}},
      {"hw_counters/rnr_nak_retry_err", {&requester.rnr_waits}},
      {"hw_counters/rp_cnp_handled", {&requester.cnps}},
      {"hw_counters/rx_atomic_requests", {&acks.atomics}},
      {"hw_counters/rx_icrc_encapsulated", {&parser.icrc_errors}},
      {"hw_counters/rx_read_requests", {&acks.reads}},
  };
}

Text text_of(std::uint64_t value) {
  Text text;
  text.fill(' ');
  std::to_chars(text.data(), text.data() + kDigits, value);
  text[kDigits] = '\n';
  return text;
}

[[noreturn]] void fail(const fs::path& file) { throw std::runtime_error(file.string() + ": " + std::strerror(errno)); }

channel::Descriptor make(const fs::path& file, std::string_view content) {
  make_private_folder(file.parent_path());
  channel::Descriptor made(create_private(file));
  const auto bytes = static_cast<ssize_t>(content.size());
  if (write(made.get(), content.data(), content.size()) != bytes) fail(file);
  return made;
}

}  // namespace

void UnmapFile::operator()(std::uint64_t* mark) const { munmap(mark, sizeof *mark); }

void CountedMemory::watch(const fs::path& mark) {
  const channel::Descriptor made = make(mark, std::string(sizeof(std::uint64_t), '\0'));
  void* const mapped = mmap(nullptr, sizeof(std::uint64_t), PROT_READ, MAP_SHARED, made.get(), 0);
  if (mapped == MAP_FAILED) fail(mark);
  mark_.reset(static_cast<std::uint64_t*>(mapped));
}

CounterFiles::CounterFiles(const fs::path& port, const Nic& nic, const std::uint64_t& bytes_sent) {
  const std::vector<Row> all = rows(nic, bytes_sent);
  const Text zero = text_of(0);
  try {
    for (const Row& row : all) {
      make(port / row.file, {zero.data(), zero.size()});
      files_.push_back({port / row.file, row.counters, row.unit});
    }
  } catch (const std::runtime_error&) {
    std::error_code ignored;
    for (const Row& row : all) fs::remove_all((port / row.file).parent_path(), ignored);
    throw;
  }
}

void CounterFiles::publish() {
  for (File& file : files_) {
    std::uint64_t sum = 0;
    for (const std::uint64_t* const counter : file.counters) sum += *counter;
    if (sum == file.sum) continue;
    file.sum = sum;
    const Text text = text_of(sum / file.unit);
    const channel::Descriptor to(::open(file.path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    [[maybe_unused]] const ssize_t written = write(to.get(), text.data(), text.size());
  }
}

}  // namespace rxnic
