// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "checked_options.h"

#include "belfry/backend/executor.h"
#include "belfry/error.h"

#include <cstddef>
#include <string>
#include <vector>

namespace belfry::sim {
namespace {

// Stream numbers are 32 bits wide, and a device has sixteen stream numbers.
constexpr int kMostDevices = 1 << 26;

void require_devices(const Options& options, CallSite site) {
  if (options.devices < 1) {
    throw InvalidArgumentError(ErrorCode::kNoDevices,
                               "a backend of " + std::to_string(options.devices) + " devices",
                               "set Options::devices to 1 or more", site);
  }
  if (options.devices > kMostDevices) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               std::to_string(options.devices) + " devices are too many",
                               "at most " + std::to_string(kMostDevices), site);
  }
  if (options.functions_of < 0 || options.functions_of >= options.devices) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "functions of replica " + std::to_string(options.functions_of) + " on a backend with " +
            std::to_string(options.devices) + (options.devices == 1 ? " device" : " devices"),
        "Options::functions_of is at least 0 and less than Options::devices", site);
  }
}

void require_links(const Options& options, CallSite site) {
  const auto devices = static_cast<std::size_t>(options.devices);
  bool fits = options.links.empty() || options.links.size() == devices;
  for (const std::vector<int>& linked : options.links) {
    for (const int other : linked) fits = fits && other >= 0 && other < options.devices;
  }
  if (fits) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "Options::links does not fit " + std::to_string(options.devices) +
                                 (options.devices == 1 ? " device" : " devices"),
                             "list the linked devices of each device, or leave links empty", site);
}

// A number that was read from a file may stand for no enumerator.
template <class E>
void require_enumerator(E value, E last, const char* member, const char* hint, CallSite site) {
  if (value <= last) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "Options::" + std::string(member) + " is " +
                                 std::to_string(static_cast<int>(value)) +
                                 ", the number of no enumerator",
                             hint, site);
}

}  // namespace

Options checked_options(Options options, CallSite site, LeastDevices least) {
  if (least == LeastDevices::kOne || options.devices != 0) require_devices(options, site);
  require_links(options, site);
  require_enumerator(options.schedule.kind, ScheduleKind::kReplayed, "schedule.kind",
                     "use Schedule::fixed(), Schedule::random() or Schedule::replay(token)", site);
  require_enumerator(options.carrier, Carrier::kConcurrent, "carrier",
                     "use Carrier::kFiber, kBaton or kConcurrent", site);
  require_enumerator(options.digests, Digests::kAll, "digests",
                     "use Digests::kNone, kSampled or kAll", site);
  require_stack_bytes(options.stack_bytes, site);
  return options;
}

}  // namespace belfry::sim
