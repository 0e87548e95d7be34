// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for flow steering. No frame is read past its end, and a flow of a frame's own fields takes the
// frame. A hash leads to a queue of the table.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/core/wire/flow_table.h"

namespace {

using namespace rxnic;

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", rule);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> exact(data, data + size);  // so that a read past the end is seen
  FlowKey key;
  if (!read_flow_key(exact, key)) return 0;
  FlowTable::Flow flow;
  flow.value = key;
  std::memset(static_cast<void*>(&flow.mask), 0xff, sizeof flow.mask);
  flow.qpn = Qpn{7};
  FlowTable table(2, 1);
  require(table.add(1, flow), "there is room");
  require(table.find(key) == Qpn{7}, "R1: its own fields take the frame");
  RssContext context;
  std::copy_n(exact.begin(), std::min(exact.size(), context.key.size()), context.key.begin());
  context.fields = exact[0];
  context.qpns = {Qpn{1}, Qpn{2}, Qpn{3}, Qpn{4}};
  require(table.set_rss(Qpn{7}, context), "there is room");
  const auto queue = table.find(key);
  require(queue && std::count(context.qpns.begin(), context.qpns.end(), *queue) == 1, "R2: a queue of the table");
  return 0;
}
