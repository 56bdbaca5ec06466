// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/source_lines.h"

#include "belfry/detail/json.h"
#include "page/packed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <vector>

namespace belfry::tool {
namespace {

namespace fs = std::filesystem;

constexpr int kLinesAround = 2;
constexpr std::size_t kLongestText = 200;       // Characters of a line; the rest is left out.
constexpr std::size_t kMostBytes = 256 * 1024;  // Bytes of all lines.

// The file at a path as it was compiled; empty without a file.
fs::path find(const fs::path& folder, const std::string& compiled) {
  std::vector<fs::path> parts;
  for (const fs::path& part : fs::path(compiled).relative_path()) {
    if (part == "..")
      parts.clear();
    else
      parts.push_back(part);
  }
  for (std::size_t first = 0; first < parts.size(); ++first) {
    fs::path path = folder;
    for (std::size_t i = first; i < parts.size(); ++i) path /= parts[i];
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path;
  }
  return {};
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line.substr(0, kLongestText));
  return lines;
}

std::string around(const std::vector<std::string>& lines, int number) {
  std::string json;
  const int last = std::min(number + kLinesAround, static_cast<int>(lines.size()));
  for (int i = std::max(number - kLinesAround, 1); i <= last; ++i) {
    json += fmt::format("{}[{},{}]", json.empty() ? "" : ",", i,
                        detail::json_string(lines[static_cast<std::size_t>(i) - 1]));
  }
  return json;
}

}  // namespace

std::string source_lines_json(const std::set<std::string>& places, const std::string& folder) {
  std::string json;
  std::map<std::string, std::vector<std::string>> files;
  for (const std::string& place : places) {
    const std::size_t colon = place.rfind(':');
    if (folder.empty() || colon == std::string::npos || json.size() > kMostBytes) continue;
    int number = 0;
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), number);
    const std::string compiled = place.substr(0, colon);
    const auto [file, is_new] = files.try_emplace(compiled);
    if (is_new) file->second = lines_of(find(folder, compiled));
    if (number < 1 || number > static_cast<int>(file->second.size())) continue;
    json += fmt::format("{}{}:[{}]", json.empty() ? "" : ",", detail::json_string(place),
                        around(file->second, number));
  }
  return ascii_json("{" + json + "}");
}

}  // namespace belfry::tool
