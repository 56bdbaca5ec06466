// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "values/memory_exchange.h"

#include "belfry/backend/device.h"
#include "belfry/error.h"

namespace belfry::detail {

ForeignMemoryDevice& exchange_of(const Placement& placement, CallSite site) {
  auto* const exchange = dynamic_cast<ForeignMemoryDevice*>(&device_of(placement));
  if (exchange != nullptr) return *exchange;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "the device shares no memory with code outside of belfry",
                         "copy the elements, with Tensor::from and to_host; for a backend of your "
                         "own, make ForeignMemoryDevice a base of its devices",
                         site);
}

}  // namespace belfry::detail
