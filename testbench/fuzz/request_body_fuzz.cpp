// SPDX-License-Identifier: Apache-2.0
// A request's name, a line feed and any text as its body in the log of a recorded run. The result is a message that is
// written and read again as it was, or an std::invalid_argument.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "bridge/rxnic/record/message_fields.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rxnic;
  const std::uint8_t* const end = std::find(data, data + size, '\n');
  const std::string type(data, end);
  const auto body = nlohmann::json::parse(std::min(end + 1, data + size), data + size, nullptr, false);
  if (body.is_discarded()) return 0;  // host_log_reader.cpp refuses the line
  try {
    const channel::Message message = parse_message(type, body);
    const std::string text = body_text(message);
    const channel::Message again = parse_message(request_name(message.type), nlohmann::json::parse(text));
    if (body_text(again) != text || again.type != message.type) std::abort();
  } catch (const std::invalid_argument&) {
    // named: all is well
  }
  return 0;
}
