// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/host_backend.h"
#include "belfry/strategy.h"

namespace belfry {

namespace detail {
/// A base, so that the backend is made before the strategy that uses it.
struct DefaultBackend {
  HostBackend host_backend{1};
};
}  // namespace detail

/// One replica in host memory: what code outside every strategy means. It keeps every rule that
/// holds for more replicas (SEM-15).
class DefaultStrategy final : private detail::DefaultBackend, public Strategy {
 public:
  DefaultStrategy();
};

}  // namespace belfry
