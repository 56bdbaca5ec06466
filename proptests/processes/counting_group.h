// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "processes/forwarding_group.h"

#include <cstddef>
#include <span>
#include <vector>

namespace belfry::testing {

/// Counts the calls in which a process gathers, and the bytes that the process gives.
class CountingGroup final : public ForwardingGroup {
 public:
  using ForwardingGroup::ForwardingGroup;
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    ++exchanges;
    sent += bytes.size();
    return ForwardingGroup::gather(bytes);
  }

  int exchanges = 0;
  std::size_t sent = 0;
};

}  // namespace belfry::testing
