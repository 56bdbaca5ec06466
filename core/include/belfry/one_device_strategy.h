// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"

namespace belfry {

/// One replica on one device, under the same rules as many (SEM-15).
class OneDeviceStrategy final : public Strategy {
 public:
  /// Throws: InvalidArgumentError (kUnknownDevice).
  OneDeviceStrategy(Backend& backend, const DeviceSpec& device, CallSite site = CallSite::here());
};

}  // namespace belfry
