// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/message_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>

namespace rxnic::message_fields_test {
namespace {

using channel::Message;
using channel::Request;
using nlohmann::json;

Message random_message(Request type, std::mt19937& random) {
  Message m;
  m.type = type;
  for (auto& byte : m.body.bytes) byte = static_cast<std::uint8_t>(random());
  return m;
}

TEST(MessageFields, EveryTypeHasANameOfItsOwn) {
  std::set<std::string> names;
  const auto last = static_cast<std::uint16_t>(channel::kLastRequest);
  for (std::uint16_t type = 1; type <= last; ++type) {
    const std::string name = request_name(static_cast<Request>(type));
    EXPECT_EQ(name.find("request_"), std::string::npos) << type;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(request_name(static_cast<Request>(last + 1)), "request_" + std::to_string(last + 1));
}

// What is read is what was written, in every type, whatever the fields hold.
TEST(MessageFields, EveryMessageComesBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    for (std::uint16_t type = 1; type <= static_cast<std::uint16_t>(channel::kLastRequest) + 1; ++type) {
      const Message m = random_message(static_cast<Request>(type), random);
      const std::string text = body_text(m);
      const Message back = parse_message(request_name(m.type), json::parse(text));
      ASSERT_EQ(back.type, m.type);
      ASSERT_EQ(body_text(back), text);
    }
  }
}

// No field is forgotten: outside padding each byte of a body shows in the text.
TEST(MessageFields, EveryByteOfABodyIsInTheText) {
  struct Body {
    Request type;
    std::size_t bytes;
    std::size_t padding;
  };
  using namespace channel;
  constexpr std::size_t kPath = sizeof(AddressVector);
  static_assert(kPath == 32);
  const Body bodies[] = {{Request::kFreePd, sizeof(Handle), 0},
                         {Request::kRegisterMemory, sizeof(Memory), 4},
                         {Request::kCopyToDevice, sizeof(DeviceMemory), 0},
                         {Request::kAllocateWindow, sizeof(Window), 0},
                         {Request::kAdviseMemory, sizeof(Advice), 0},
                         {Request::kCreateCq, sizeof(channel::CompletionQueue), 4},
                         {Request::kCreateSrq, sizeof(SharedReceiveQueue), 4},
                         {Request::kCreateQp, sizeof(QueuePair), 0},
                         {Request::kModifyQp, sizeof(channel::QpAttributes), 0},
                         {Request::kResolve, sizeof(Resolve), 0},
                         {Request::kAttachMulticast, sizeof(Multicast), 0},
                         {Request::kOpenXrcd, sizeof(XrcDomain), 0},
                         {Request::kReadClock, sizeof(Clock), 0}};
  for (const Body& body : bodies) {
    Message m;
    m.type = body.type;
    m.body.bytes.fill(0);
    const std::string before = body_text(m);
    std::size_t silent = 0;
    for (std::size_t i = 0; i < body.bytes; ++i) {
      m.body.bytes[i] = 1;
      silent += body_text(m) == before ? 1 : 0;
      m.body.bytes[i] = 0;
    }
    EXPECT_LE(silent, body.padding) << request_name(body.type);
  }
}

std::string refusal(const std::string& type, const char* body) {
  try {
    parse_message(type, json::parse(body));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "none";
}

TEST(MessageFields, ARefusalNamesTheField) {
  EXPECT_EQ(refusal("free_pd", R"({"number":4})"), "none");
  EXPECT_EQ(refusal("free_pd", R"({})"), "number that is missing; expected it");
  EXPECT_EQ(refusal("free_pd", R"({"number":4294967296})"),
            "number with another value; expected an integer from 0 to 4294967295");
  EXPECT_EQ(refusal("free_pd", R"({"number":"4"})"),
            "number with another value; expected an integer from 0 to 4294967295");
  EXPECT_EQ(refusal("free_pd", R"({"number":4,"colour":1})"), "a field that is not known; expected 1 fields");
  EXPECT_EQ(refusal("make_pd", R"({})"), "type 'make_pd'; expected the name of a request");
  EXPECT_EQ(refusal("request_", R"({})"), "type 'request_'; expected the name of a request");
  EXPECT_EQ(refusal("request_70000", R"({})"), "type 'request_70000'; expected the name of a request");
  EXPECT_EQ(refusal("request_700", R"({})"), "none");
  EXPECT_EQ(refusal("request_700", R"({"a":1})"), "body with fields; expected none for this type");
  EXPECT_EQ(refusal("attach_multicast", R"({"qpn":1,"gid":"ff"})"),
            "gid with another value; expected 32 hexadecimal digits");
  EXPECT_EQ(refusal("attach_multicast", R"({"qpn":1,"gid":"zz0102030405060708090a0b0c0d0e0f"})"),
            "gid with another value; expected 32 hexadecimal digits");
  EXPECT_EQ(refusal("resolve", R"({"path":3})"), "path with another value; expected an object");
}

TEST(MessageFields, BoardsHaveNames) {
  for (std::size_t i = 0; i < channel::kBoards; ++i) {
    const auto board = static_cast<channel::Board>(i);
    EXPECT_EQ(parse_board(board_name(board)), board);
  }
  EXPECT_THROW(parse_board("notice"), std::invalid_argument);
}

}  // namespace
}  // namespace rxnic::message_fields_test
