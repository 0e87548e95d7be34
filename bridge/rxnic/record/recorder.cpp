// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/recorder.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bridge/rxnic/record/message_fields.h"

namespace rxnic {

namespace {
std::uint32_t raw(ClientId client) { return static_cast<std::uint32_t>(client); }
}  // namespace

Recorder::Recorder(const std::string& folder, const HostLogHeader& header,
                   std::function<void(const TraceError&)> on_failure)
    : log_(std::filesystem::path(folder) / kHostLogFile, header),
      wire_(std::filesystem::path(folder) / kWireFile, LinkLayer::kEthernet),
      on_failure_(std::move(on_failure)) {}

void Recorder::fail(const TraceError& error) {
  failed_ = true;
  log_.cut(error.found());
  try {
    wire_.close();
  } catch (const TraceError&) {
    // The frames that it holds are compared.
  }
  if (on_failure_) on_failure_(error);
}

void Recorder::on_event(Cycle now, const ProgramEvent& e) {
  record([&] {
    switch (e.kind) {
      case ProgramEvent::Kind::kOpen:
        return log_.open(now.count, raw(e.client), e.nic, e.pid, e.program);
      case ProgramEvent::Kind::kRequest:
        return log_.request(now.count, raw(e.client), request_name(e.message.type), body_text(e.message));
      case ProgramEvent::Kind::kDoorbell:
        return log_.doorbell(now.count, raw(e.client), board_name(e.board), e.index, e.value);
      case ProgramEvent::Kind::kClose:
        return log_.disconnect(now.count, raw(e.client));
    }
  });
}

void Recorder::on_read(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok, bool gone) {
  record([&] { log_.read(now.count, raw(client), address, data, ok, gone); });
}

void Recorder::on_write(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) {
  record([&] { log_.written(now.count, raw(client), address, data, ok); });
}

void Recorder::on_frame(std::uint32_t, std::uint32_t, Bytes frame, std::uint64_t time_ps) {
  record([&] { wire_.write(time_ps, frame); });
}

void Recorder::close(Cycle last, std::uint64_t cqes) {
  record([&] {
    wire_.close();
    log_.end(last.count, wire_.frames(), cqes);
    log_.close();
  });
}

void remove_record(const std::string& folder) {
  namespace fs = std::filesystem;
  constexpr std::string_view kBegin = R"({"event":"header","format":"rxnic.host_log")";
  const fs::path log = fs::path(folder) / kHostLogFile;
  std::error_code ignored, failed;
  if (!fs::is_regular_file(fs::symlink_status(log, ignored))) return;
  std::ifstream in(log, std::ios::binary);
  std::string begin(kBegin.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin != kBegin) return;
  for (const fs::path& file : {fs::path(folder) / kWireFile, log}) {  // the log last: without it nothing is a record
    if (!fs::is_regular_file(fs::symlink_status(file, ignored))) continue;
    fs::remove(file, failed);
    if (failed) throw std::runtime_error(fmt::format("{}: of an earlier run: {}", file.string(), failed.message()));
  }
}

}  // namespace rxnic
