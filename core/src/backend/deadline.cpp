// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/process_group.h"

namespace belfry {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kHundredYears = std::int64_t{100} * 365 * 24 * 3600 * kSecond;

bool is_whole_seconds(const Deadline& deadline) {
  return deadline.as_milliseconds() % kSecond == 0;
}

std::string number_of(const Deadline& deadline) {
  return std::to_string(deadline.as_milliseconds() / (is_whole_seconds(deadline) ? kSecond : 1));
}

}  // namespace

Deadline Deadline::milliseconds(std::int64_t count, CallSite site) {
  if (count >= 1 && count <= kHundredYears) return Deadline(count);
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "a deadline of " + std::to_string(count) + " ms",
                             "a deadline is at least 1 ms; Deadline::never() is no limit", site);
}

Deadline Deadline::seconds(std::int64_t count, CallSite site) {
  if (count >= 1 && count <= kHundredYears / kSecond) return Deadline(count * kSecond);
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "a deadline of " + std::to_string(count) + " s",
                             "a deadline is at least 1 ms; Deadline::never() is no limit", site);
}

std::string to_string(const Deadline& deadline) {
  const std::string type = "belfry::Deadline::";
  if (deadline.is_never()) return type + "never()";
  const char* const unit = is_whole_seconds(deadline) ? "seconds(" : "milliseconds(";
  return type + unit + number_of(deadline) + ")";
}

namespace detail {

std::string words_of(const Deadline& deadline) {
  if (deadline.is_never()) return "no limit";
  return number_of(deadline) + (is_whole_seconds(deadline) ? " s" : " ms");
}

}  // namespace detail
}  // namespace belfry
