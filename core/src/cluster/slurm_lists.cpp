// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lists in Slurm's notation, by recursive descent. Numbers and lengths of names are compared with
// limits before names are made: a short text can stand for more names than fit in memory.
#include "belfry/cluster_environment.h"
#include "belfry/detail/options_text.h"
#include "belfry/error.h"
#include "cluster/variable.h"

#include <algorithm>
#include <cstdint>

namespace belfry {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr std::size_t kMostCharacters = 255;  // Of the name of a host.

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class ListParser {
 public:
  ListParser(std::string_view text, const char* expected, CallSite site)
      : text_(text), expected_(expected), site_(site) {}

  std::vector<std::string> hosts() {
    std::vector<std::string> hosts;
    do {
      std::vector<std::string> names = host();
      require_room(hosts.size() + names.size());
      hosts.insert(hosts.end(), names.begin(), names.end());
    } while (take(','));
    if (!done()) fail("expected ','");
    return hosts;
  }

  std::vector<int> counts() {
    std::vector<int> counts;
    do {
      const int tasks = number();
      std::size_t hosts = 1;
      if (take('(')) {
        if (!take('x')) fail("expected 'x'");
        hosts = static_cast<std::size_t>(number());
        if (!take(')')) fail("expected ')'");
      }
      require_room(counts.size() + hosts);
      counts.insert(counts.end(), hosts, tasks);
    } while (take(','));
    if (!done()) fail("expected ','");
    return counts;
  }

 private:
  // The names of an item, for example rack[0-1]node[01-03].
  std::vector<std::string> host() {
    std::vector<std::string> names(1);
    const std::size_t begin = at_;
    while (!done() && text_[at_] != ',') {
      if (take('[')) {
        names = combined(names, ranges());
      } else {
        if (text_[at_] == ']') fail("expected a host");
        for (std::string& name : names) name += text_[at_];
        ++at_;
      }
      if (names.back().size() > kMostCharacters) fail("the name of a host is too long");
    }
    if (at_ == begin) fail("expected a host");
    return names;
  }

  // The numbers between brackets, as text with zeros in front.
  std::vector<std::string> ranges() {
    std::vector<std::string> numbers;
    do {
      const std::string_view first = digits();
      const std::int64_t low = value_of(first);
      const std::int64_t high = take('-') ? value_of(digits()) : low;
      if (first.size() > kMostCharacters) fail("the name of a host is too long");
      if (high < low) fail("the range ends before its begin");
      require_room(numbers.size() + static_cast<std::size_t>(high - low) + 1);
      for (std::int64_t number = low; number <= high; ++number) {
        const std::string digits = std::to_string(number);
        numbers.push_back(std::string(first.size() - std::min(first.size(), digits.size()), '0') +
                          digits);
      }
    } while (take(','));
    if (!take(']')) fail("expected ']'");
    return numbers;
  }

  std::vector<std::string> combined(const std::vector<std::string>& names,
                                    const std::vector<std::string>& numbers) {
    require_room(names.size() * numbers.size());
    std::vector<std::string> all;
    for (const std::string& name : names) {
      for (const std::string& number : numbers) all.push_back(name + number);
    }
    return all;
  }

  std::string_view digits() {
    const std::size_t begin = at_;
    while (!done() && is_digit(text_[at_])) ++at_;
    if (at_ == begin) fail("expected a number");
    return text_.substr(begin, at_ - begin);
  }
  int value_of(std::string_view digits) {
    const std::optional<int> value = detail::decimal_number(digits);
    if (!value) fail("the number is too large");
    return *value;
  }
  int number() {
    const int value = value_of(digits());
    if (value == 0) fail("a number is at least 1");
    return value;
  }

  bool done() const { return at_ == text_.size(); }
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void require_room(std::size_t hosts) const {
    if (hosts > kMostHosts) fail("more than " + std::to_string(kMostHosts) + " hosts");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgumentError(
        ErrorReport{.code = ErrorCode::kInvalidArgument,
                    .summary = "list " + detail::quoted(text_.substr(0, kMostText)) + ", column " +
                               std::to_string(at_ + 1) + ": " + what,
                    .site = site_,
                    .replicas = {},
                    .expected = expected_,
                    .hint = {}});
  }

  static constexpr std::size_t kMostText = 200;  // Of a list in a message.

  std::string_view text_;
  const char* expected_;
  CallSite site_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> slurm_hosts(std::string_view list, CallSite site) {
  return ListParser(list, "names and ranges, such as n[08-10,12],m5", site).hosts();
}

std::vector<int> slurm_tasks_per_node(std::string_view list, CallSite site) {
  return ListParser(list, "numbers and repetitions, such as 3(x2),2,1", site).counts();
}

}  // namespace belfry
