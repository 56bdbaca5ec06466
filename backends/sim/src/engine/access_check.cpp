// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/access_check.h"

#include "belfry/error.h"

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

void check_access(const Access& access, bool written, std::string_view who, CallSite site) {
  if (fine(access, written)) return;
  const Allocation& allocation = *access.allocation;
  std::string text(who);
  if (allocation.retired()) {
    throw DeviceError(ErrorCode::kOutOfBounds,
                      text + " uses " + allocation.describe() + " after it was freed",
                      "free memory after the work that uses it, in stream order", site);
  }
  if (!inside(access)) {
    throw DeviceError(ErrorCode::kOutOfBounds,
                      text + " touches " + text_of(access.range) + " of " + allocation.describe(),
                      "a range must end within its buffer", site);
  }
  if (allocation.spoilt_by() != nullptr) std::rethrow_exception(allocation.spoilt_by());
  const ByteRange gap = allocation.written().first_gap(access.range).value_or(access.range);
  throw DeviceError(ErrorCode::kUninitialised,
                    text + " reads " + text_of(gap) + " of " + allocation.describe() +
                        ", which nobody has written",
                    "write them first, and make the reader's stream wait for the writer's", site);
}

void check_accesses(const Command& command, const CommandQueue& queue, bool written) {
  for (const Access& read : command.reads) {
    if (!fine(read, written)) check_access(read, written, subject(command, queue), command.site);
  }
  for (const Access& write : command.writes) {
    if (!fine(write, false)) check_access(write, false, subject(command, queue), command.site);
  }
}

}  // namespace belfry::engine
