// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {

/// The name of a device: `/job:worker/replica:0/task:1/device:GPU:3`, or
/// `DeviceSpec::parse("GPU:3")`. The order of names compares fields and numbers, never text: GPU:2
/// precedes GPU:10.
struct DeviceSpec {
  std::string job = "localhost";  ///< The job of the process.
  int replica = 0;                ///< The number after `/replica:`.
  int task = 0;                   ///< The number after `/task:`.
  std::string type = "CPU";       ///< Upper case: `CPU`, `GPU`, `SIM`.
  int index = 0;                  ///< The number among the devices of the type.

  /// Reads `/job:J/replica:R/task:T/device:TYPE:I`, or any part of the form; missing fields come
  /// from `defaults`. The short forms of `/device:GPU:1` are `/gpu:1` and `gpu:1`, in upper, lower
  /// or mixed case; `gpu` is `gpu:0`. The first slash may be missing.
  /// Throws: InvalidArgumentError (kDeviceString) with the column at fault.
  static DeviceSpec parse(std::string_view text, const DeviceSpec& defaults,
                          CallSite site = CallSite::here());
  static DeviceSpec parse(std::string_view text, CallSite site = CallSite::here());

  auto operator<=>(const DeviceSpec&) const = default;
  bool operator==(const DeviceSpec&) const = default;
};

/// The full canonical form.
std::string to_string(const DeviceSpec& spec);

}  // namespace belfry
