// SPDX-License-Identifier: Apache-2.0
// Reads waveform files back.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace rxnic {

using Changes = std::map<std::uint64_t, std::string>;  // picoseconds, value: "1", "x", "busy", "101"

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The changes of each signal, by "scope.name".
inline std::map<std::string, Changes> read_vcd(const std::string& path) {
  std::istringstream file(text_of_file(path));
  std::map<std::string, std::vector<std::string>> names;  // by identifier code
  std::map<std::string, Changes> signals;
  std::vector<std::string> scopes;
  std::uint64_t time = 0;
  bool defined = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word, code;
    words >> word;
    if (word == "$scope") {
      std::string kind, name;
      words >> kind >> name;
      scopes.push_back(name);
    } else if (word == "$upscope") {
      scopes.pop_back();
    } else if (word == "$var") {
      std::string type, width, name, full;
      words >> type >> width >> code >> name;
      for (const std::string& scope : scopes) full += scope + ".";
      names[code].push_back(full + name);
      signals[full + name];
    } else if (!defined) {
      defined = word == "$enddefinitions";
    } else if (word[0] == '#') {
      time = std::stoull(word.substr(1));
    } else if (word[0] == 'b' || word[0] == 's') {
      words >> code;
      for (const std::string& name : names.at(code)) signals.at(name)[time] = word.substr(1);
    } else if (word[0] != '$') {
      for (const std::string& name : names.at(word.substr(1))) signals.at(name)[time] = word.substr(0, 1);
    }
  }
  return signals;
}

}  // namespace rxnic
