// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/access_check.h"

#include <exception>
#include <string>
#include <utility>

namespace belfry::engine {
namespace {

std::string text_of(const ByteRange& range) {
  return "bytes [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}

bool inside(const Access& access) {
  const ByteRange& range = access.range;
  return range.begin <= range.end && range.end <= access.allocation->bytes();
}

// Quick tests first: the subject of a message is put together only for a message.
bool fine(const Access& access, bool written) {
  const Allocation& allocation = *access.allocation;
  return !allocation.retired() && inside(access) &&
         !(written && allocation.written().first_gap(access.range).has_value());
}

std::string subject(const Command& command, const CommandQueue& queue) {
  std::string text = std::string(command.name) + " on " + to_string(queue.agent());
  if (!queue.label().empty()) text += " (" + queue.label() + ")";
  return text;
}

}  // namespace

void check_access(const Access& access, bool written, std::string_view who, CallSite site,
                  int replica) {
  if (fine(access, written)) return;
  const Allocation& allocation = *access.allocation;
  std::string text(who);
  if (allocation.retired()) {
    throw DeviceError(report_on_work(
        ErrorCode::kOutOfBounds, text + " uses " + allocation.describe() + " after it was freed",
        "free memory after the work that uses it, in stream order", site, replica));
  }
  if (!inside(access)) {
    throw DeviceError(
        report_on_work(ErrorCode::kOutOfBounds,
                       text + " touches " + text_of(access.range) + " of " + allocation.describe(),
                       "a range must end within its buffer", site, replica));
  }
  if (allocation.spoilt_by() != nullptr) std::rethrow_exception(allocation.spoilt_by());
  const ByteRange gap = allocation.written().first_gap(access.range).value_or(access.range);
  throw DeviceError(report_on_work(
      ErrorCode::kUninitialised,
      text + " reads " + text_of(gap) + " of " + allocation.describe() +
          ", which nobody has written",
      "write them first, and make the reader's stream wait for the writer's", site, replica));
}

void check_accesses(const Command& command, const CommandQueue& queue, bool written) {
  const auto check = [&](const Access& access, bool must_be_written) {
    if (fine(access, must_be_written)) return;
    check_access(access, must_be_written, subject(command, queue), command.site, command.replica);
  };
  for (const Access& read : command.reads) check(read, written);
  for (const Access& write : command.writes) check(write, false);
}

ErrorReport report_on_work(ErrorCode code, std::string summary, std::string hint, CallSite site,
                           int replica) {
  ErrorReport report{.code = code,
                     .summary = std::move(summary),
                     .site = site,
                     .replicas = {},
                     .expected = {},
                     .hint = std::move(hint)};
  if (replica >= 0) report.replicas.push_back({replica, site, "launched this work"});
  return report;
}

}  // namespace belfry::engine
