// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace belfry::demo {
namespace {

constexpr int kMaxLine = 1024;          // Characters; a good line has at most 195.
constexpr int kMaxImages = 10'000'000;  // Ends the read of an endless file.
constexpr const char* kHint =
    "each line is one image: 64 pixels from 0 to 16 and the digit, as in 0,5,16,...,7";

// Reads the numbers of a line from left to right.
class LineReader {
 public:
  LineReader(std::string_view line, const std::string& file, int number)
      : line_(line), file_(file), number_(number) {}

  // The next number, which must be in [0, limit].
  std::uint8_t next(int limit, std::string_view what) {
    if (fields_ > 0) skip_comma(what);
    const std::size_t begin = position_;
    const std::size_t end = std::min(line_.find(',', begin), line_.size());
    const std::string_view field = line_.substr(begin, end - begin);
    int value = 0;
    for (const char c : field) {
      if (c < '0' || c > '9') fail(begin, fmt::format("'{}' is not a number", printable(field)));
      value = std::min(value * 10 + (c - '0'), 1000);
    }
    if (field.empty()) fail(begin, fmt::format("{} is missing", what));
    if (value > limit) {
      fail(begin, fmt::format("{} is {}; it goes from 0 to {}", what, field, limit));
    }
    position_ = end;
    ++fields_;
    return static_cast<std::uint8_t>(value);
  }

  void finish() {
    if (position_ < line_.size()) fail(position_, "the line goes on after the digit");
  }

  [[noreturn]] void fail(std::size_t position, const std::string& what) const {
    throw InvalidArgumentError(ErrorCode::kFileFormat,
                               fmt::format("{}:{}:{}: {}", file_, number_, position + 1, what),
                               kHint);
  }

 private:
  void skip_comma(std::string_view what) {
    if (position_ == line_.size()) {
      fail(position_,
           fmt::format("the line ends after {} numbers of 65; {} is missing", fields_, what));
    }
    ++position_;
  }

  static std::string printable(std::string_view field) {
    std::string text;
    for (const char c : field.substr(0, 20)) text += c >= ' ' && c <= '~' ? c : '?';
    return field.size() > 20 ? text + "..." : text;
  }

  std::string_view line_;
  const std::string& file_;
  int number_;
  int fields_ = 0;
  std::size_t position_ = 0;
};

void parse_line(LineReader line, Digits& digits) {
  for (int i = 0; i < kPixels; ++i) {
    digits.pixels.push_back(line.next(kDarkest, fmt::format("pixel {}", i + 1)));
  }
  digits.labels.push_back(line.next(kDigits - 1, "the digit"));
  line.finish();
}

[[noreturn]] void unreadable(const std::string& path, const std::string& why) {
  throw UnreadableFile(ErrorCode::kFileFormat, fmt::format("cannot read {}: {}", path, why),
                       "name the file with --file; the project's own is " + project_digits());
}

}  // namespace

std::string project_digits() {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::filesystem::path installed = program.parent_path() / BELFRY_INSTALLED_DATA;
  if (!failed && std::filesystem::exists(installed, failed)) return installed.lexically_normal();
  return BELFRY_DEMO_DATA;
}

Digits parse_digits(std::istream& in, const std::string& name) {
  Digits digits;
  std::array<char, kMaxLine> buffer{};
  int number = 0;
  while (in.getline(buffer.data(), buffer.size())) {
    ++number;
    std::string_view line(buffer.data(),
                          static_cast<std::size_t>(in.gcount()) - (in.eof() ? 0 : 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && in.peek() == std::istream::traits_type::eof()) break;
    const LineReader reader(line, name, number);
    if (number > kMaxImages) reader.fail(0, fmt::format("more than {} images", kMaxImages));
    parse_line(reader, digits);
  }
  if (in.bad()) unreadable(name, "the device reported an error");
  const LineReader end("", name, number + 1);
  if (!in.eof() && in.fail() && in.gcount() > 0) {
    end.fail(kMaxLine - 1, fmt::format("the line has more than {} characters", kMaxLine - 1));
  }
  if (digits.labels.empty()) end.fail(0, "the file has no images");
  return digits;
}

Digits read_digits(const std::string& path) {
  errno = 0;
  std::ifstream in(path);
  if (!in) unreadable(path, errno != 0 ? std::strerror(errno) : "it cannot be opened");
  errno = 0;
  in.peek();
  if (errno != 0) unreadable(path, std::strerror(errno));  // A folder opens, but cannot be read.
  in.clear();
  return parse_digits(in, path);
}

}  // namespace belfry::demo
