// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/host_backend.h"
#include "belfry/strategy.h"

namespace belfry {

namespace detail {
/// A base class: the backend is constructed before the strategy that uses the backend.
struct DefaultBackend {
  HostBackend host_backend{1};
};
}  // namespace detail

/// A single replica in host memory: the strategy of code outside every other strategy. The rules
/// for several replicas hold (SEM-15).
class DefaultStrategy final : private detail::DefaultBackend, public Strategy {
 public:
  DefaultStrategy();
};

}  // namespace belfry
