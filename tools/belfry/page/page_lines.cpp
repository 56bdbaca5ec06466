// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/page_lines.h"

#include "belfry/detail/json.h"
#include "belfry/error.h"
#include "page/packed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace belfry::tool {
namespace {

constexpr std::size_t kLongestLine = 1U << 20;
constexpr std::int64_t kNewestVersion = 1;

// The members of a line for the choice of lines.
class Members final : public detail::JsonPieces {
 public:
  std::optional<std::int64_t> version, step, value_of;
  bool is_buffer = false;
  std::string place;

  void start_object() override { is_object_ |= depth_++ == 0; }
  void end_object() override { --depth_; }
  void start_array() override { ++depth_; }
  void end_array() override { --depth_; }
  void key(std::string name) override { key_ = depth_ == 1 ? std::move(name) : ""; }
  void string(std::string text) override {
    if (depth_ == 1 && key_ == "line") place = std::move(text);
  }
  void number(std::uint64_t number) override {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto value = static_cast<std::int64_t>(std::min(number, kMost));
    if (depth_ != 1) return;
    if (key_ == "belfry_trace") version = value;
    if (key_ == "step") step = value;
    if (key_ == "value_of") value_of = value;
    is_buffer |= key_ == "buffer";
  }
  void other(const std::string&) override {}
  bool is_object() const { return is_object_; }

 private:
  int depth_ = 0;
  bool is_object_ = false;
  std::string key_;
};

class Reader {
 public:
  Reader(std::istream& trace, const std::string& name, const PageBounds& bounds)
      : trace_(trace), name_(name), bounds_(bounds) {}

  PageLines read() {
    std::string line;
    while (next(line)) {
      Members members;
      if (!parse(line, members)) break;
      if (number_ == 1 && !members.version) fail(1, "no trace begins so");
      if (members.version.value_or(kNewestVersion) != kNewestVersion) {
        fail(1, fmt::format("a trace of version {}; this belfry reads version {}", *members.version,
                            kNewestVersion));
      }
      take(line, members);
    }
    if (number_ == 0) fail(1, "the file is empty");
    lines_.total = std::max(lines_.total, lines_.steps);
    text_.add(fmt::format(R"({{"page":{{"left_out":{},"total":{},"torn":{}}}}})",
                          lines_.total - lines_.steps, lines_.total, torn_));
    lines_.packed = text_.packed();
    return std::move(lines_);
  }

 private:
  bool next(std::string& line) {
    if (!std::getline(trace_, line)) return false;
    ++number_;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.size() > kLongestLine) fail(kLongestLine, "the line is longer than a mebibyte");
    return true;
  }

  // False for a torn line.
  bool parse(const std::string& line, Members& members) {
    try {
      detail::read_json(line, true, members);
    } catch (const detail::JsonError& error) {
      torn_ = trace_.eof() && number_ > 1;
      if (!torn_)
        fail(std::max<std::size_t>(error.read, 1), "no JSON: " + std::string(error.what()));
      return false;
    }
    if (!members.is_object()) fail(1, "a line of a trace is an object");
    return true;
  }

  void take(const std::string& line, Members& members) {
    if (members.step) return take_step(line, members);
    if (members.is_buffer) return;
    const bool is_left_out =
        members.value_of && (*members.value_of < first_ || *members.value_of >= end_ || is_full());
    if (!is_left_out) text_.add(ascii_json(line));
  }

  void take_step(const std::string& line, Members& members) {
    ++lines_.total;
    if (*members.step < bounds_.from || *members.step >= end_) return;
    if (lines_.steps == bounds_.steps || is_full()) {
      end_ = *members.step;
      return;
    }
    ++lines_.steps;
    if (!members.place.empty()) lines_.places.insert(std::move(members.place));
    text_.add(ascii_json(line));
  }

  bool is_full() const { return text_.packed().size() >= bounds_.packed_bytes; }

  [[noreturn]] void fail(std::size_t column, const std::string& what) const {
    throw InvalidArgumentError(
        ErrorCode::kFileFormat,
        fmt::format("{}:{}:{}: {}", name_, std::max(number_, 1), column, what),
        "a trace has an object of JSON in each line, and begins with "
        "{\"belfry_trace\":1");
  }

  std::istream& trace_;
  const std::string& name_;
  const PageBounds& bounds_;
  PageLines lines_;
  PackedText text_;
  int number_ = 0;                                               // Of the line, from 1.
  std::int64_t first_ = bounds_.from;                            // The first step of the page,
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();  // and the step after the last.
  bool torn_ = false;
};

}  // namespace

PageLines read_page_lines(std::istream& trace, const std::string& name, const PageBounds& bounds) {
  return Reader(trace, name, bounds).read();
}

}  // namespace belfry::tool
