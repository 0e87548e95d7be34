// SPDX-License-Identifier: Apache-2.0
#include "testbench/cosim/verilated_cover.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <verilated_cov.h>

namespace rxnic {

// Verilator gives them only as a file, of lines like: C '\001f\002x.sv\001o\002label...' 17
std::vector<CoverPoint> cover_points_of(VerilatedContext& context) {
  std::string path = (std::filesystem::temp_directory_path() / "rxnic_cover_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return {};
  close(file);
  context.coveragep()->write(path.c_str());
  std::vector<CoverPoint> points;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t key = line.find("\001o\002");
    if (line.rfind("C '", 0) != 0 || key == std::string::npos) continue;
    const std::size_t begin = key + 3, end = line.find_first_of("\001'", begin);
    points.push_back({line.substr(begin, end - begin), std::strtoull(line.c_str() + line.rfind(' '), nullptr, 10)});
  }
  std::filesystem::remove(path);
  return points;
}

}  // namespace rxnic
