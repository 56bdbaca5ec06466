// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/device_spec.h"

#include "belfry/error.h"

#include <limits>
#include <optional>

namespace belfry {
namespace {

// Character classes of ASCII: the locale must not change what parses.
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

struct Parser {
  std::string_view text;
  CallSite site;
  std::size_t at = 0;

  std::optional<std::string> job{};
  std::optional<int> replica{};
  std::optional<int> task{};
  std::optional<std::string> type{};
  int index = 0;

  [[noreturn]] void fail(std::size_t where, const std::string& what) const {
    ErrorReport report{.code = ErrorCode::kDeviceString,
                       .summary = "device string \"" + std::string(text) + "\", column " +
                                  std::to_string(where + 1) + ": " + what,
                       .site = site,
                       .replicas = {},
                       .expected =
                           "/job:NAME/replica:N/task:N/device:TYPE:N, any part of it, or "
                           "a short form: GPU:0, gpu:0, /gpu:0, gpu",
                       .hint = {}};
    throw InvalidArgumentError(std::move(report));
  }

  bool done() const { return at == text.size(); }
  char peek() const { return done() ? '\0' : text[at]; }

  void expect_colon() {
    if (peek() != ':' || done()) fail(at, "expected ':'");
    ++at;
  }

  template <class Accepts>
  std::string_view take_while(Accepts accepts) {
    const std::size_t begin = at;
    while (!done() && accepts(text[at])) ++at;
    return text.substr(begin, at - begin);
  }

  int number() {
    const std::size_t begin = at;
    std::int64_t value = 0;
    while (is_digit(peek())) {
      value = value * 10 + (text[at] - '0');
      if (value > std::numeric_limits<int>::max()) fail(begin, "the number is too large");
      ++at;
    }
    if (at == begin) fail(at, "expected a number");
    return static_cast<int>(value);
  }

  std::string job_name() {
    const std::size_t begin = at;
    const auto name = take_while([](char c) {
      return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
    });
    if (name.empty()) fail(begin, "expected the name of a job");
    return std::string(name);
  }

  void device(std::size_t begin) {
    const std::size_t type_begin = at;
    const auto name = take_while([](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
    if (is_lower(peek())) fail(at, "after /device: the type is written in upper case");
    if (name.empty()) fail(type_begin, "expected a type of device");
    set_type(begin, std::string(name));
    expect_colon();
    index = number();
  }

  // `gpu:1`, in upper, lower or mixed case; without a number, the device has the number 0.
  void short_device(std::size_t begin, std::size_t word_begin, std::string_view word) {
    std::string upper;
    for (const char c : word) upper += to_upper(c);
    if (upper != "CPU" && upper != "GPU" && upper != "SIM") {
      fail(word_begin, "expected job, replica, task, device, cpu, gpu or sim");
    }
    set_type(begin, std::move(upper));
    if (done() || peek() == '/') return;
    expect_colon();
    index = number();
  }

  void set_type(std::size_t begin, std::string name) {
    if (type) fail(begin, "a second device");
    type = std::move(name);
  }

  template <class Value, class Read>
  void field(std::optional<Value>& value, const char* name, std::size_t begin, Read read) {
    if (value) fail(begin, std::string("a second ") + name);
    expect_colon();
    value = read();
  }

  void part() {
    const std::size_t begin = at;
    // The first slash may be missing.
    if (peek() == '/') {
      ++at;
    } else if (begin > 0) {
      fail(at, "expected '/'");
    }
    const std::size_t word_begin = at;
    const auto word = take_while([](char c) { return is_lower(c) || is_upper(c); });
    if (word == "job") {
      field(job, "job", begin, [this] { return job_name(); });
    } else if (word == "replica") {
      field(replica, "replica", begin, [this] { return number(); });
    } else if (word == "task") {
      field(task, "task", begin, [this] { return number(); });
    } else if (word == "device") {
      expect_colon();
      device(begin);
    } else {
      short_device(begin, word_begin, word);
    }
  }
};

}  // namespace

DeviceSpec DeviceSpec::parse(std::string_view text, const DeviceSpec& defaults, CallSite site) {
  Parser parser{.text = text, .site = site};
  while (!parser.done()) parser.part();
  DeviceSpec spec = defaults;
  if (parser.job) spec.job = *parser.job;
  if (parser.replica) spec.replica = *parser.replica;
  if (parser.task) spec.task = *parser.task;
  if (parser.type) {
    spec.type = *parser.type;
    spec.index = parser.index;
  }
  return spec;
}

DeviceSpec DeviceSpec::parse(std::string_view text, CallSite site) {
  return parse(text, DeviceSpec{}, site);
}

std::string to_string(const DeviceSpec& spec) {
  return "/job:" + spec.job + "/replica:" + std::to_string(spec.replica) +
         "/task:" + std::to_string(spec.task) + "/device:" + spec.type + ':' +
         std::to_string(spec.index);
}

}  // namespace belfry
