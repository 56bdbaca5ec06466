// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_parts.h"

#include <exception>
#include <functional>
#include <span>
#include <vector>

namespace belfry::detail {

/// The processes that reduce tensors together in parts.
struct PartsExchange {
  int rank = 0;
  /// The first replica of each process, and then the number of all replicas.
  std::vector<int> first_replica{};
  /// ProcessExchange::exchange_parts.
  std::function<void(const std::exception_ptr& failure, std::span<const SentPart>,
                     std::span<const ReceivedPart>)>
      exchange{};

  int processes() const { return static_cast<int>(first_replica.size()) - 1; }
};

}  // namespace belfry::detail
