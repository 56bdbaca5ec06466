// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "marks.h"

#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>

namespace belfry::bugs {

std::map<int, Marks> marks_in(const std::string& folder, const std::string& file) {
  std::ifstream source(folder + "/" + file);
  if (!source) throw std::runtime_error("no file " + folder + "/" + file);
  const std::regex mark("// bug ([0-9]+), access(es)? ([12])( and 2)?$");
  std::map<int, Marks> marks;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    std::smatch found;
    if (!std::regex_search(line, found, mark)) continue;
    Marks& of_bug = marks[std::stoi(found[1])];
    const std::string place = file + ":" + std::to_string(number);
    of_bug[found[3] == "1" ? 0 : 1] = place;
    if (found[4].matched) of_bug[1] = place;
  }
  return marks;
}

}  // namespace belfry::bugs
