// SPDX-License-Identifier: Apache-2.0
#include "model/engine/wave_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/engine/link.h"
#include "model/types/descriptor_bits.h"
#include "testbench/unit/model/engine/vcd_reader.h"
#include "testbench/unit/model/types/parcel.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::wave_fields_test {
namespace {

TEST(WaveFields, AValueAndTheBitsOfItsPortAreShownAlike) {
  const TemporaryFolder folder;
  const Link<Parcel> link("link", 1);
  const Parcel value = parcel();
  std::vector<std::uint32_t> bits(words_of_bits(link.value_bits()));
  pack(value, bits.data());

  const std::string path = folder.file("waves.vcd");
  WaveFile file(path, 1, {});
  const WaveFields fields(file.tree, file.tree.scope("value"), link.operations());
  const WaveFields fields_of_bits(file.tree, file.tree.scope("bits"), link.operations());
  file.begin(Cycle{0});
  fields.show(file, &value);
  fields_of_bits.show_bits(file, bits.data());
  file.close(Cycle{0});

  const auto signals = read_vcd(path);
  for (const std::string scope : {"value.", "bits."}) {
    const auto at = [&](const std::string& name) { return signals.at(scope + name).at(0); };
    EXPECT_EQ(at("pieces(0).length"), "0");
    EXPECT_EQ(at("pieces(1).length"), "100");
    EXPECT_EQ(at("pieces(1).lkey"), "100000000");
    EXPECT_EQ(at("list(0)"), "1");
    EXPECT_EQ(at("list(2)"), "11");
    EXPECT_EQ(at("blob"), "00000000000011111111000011111111");
    EXPECT_EQ(at("psn"), "10010");
  }
}

}  // namespace
}  // namespace rxnic::wave_fields_test
