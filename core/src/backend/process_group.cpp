// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/process_group.h"

#include "belfry/error.h"

#include <string>

namespace belfry {

std::vector<std::vector<std::byte>> SingleProcess::gather(std::span<const std::byte> bytes) {
  return {{bytes.begin(), bytes.end()}};
}

std::vector<std::byte> SingleProcess::broadcast(std::span<const std::byte> bytes, int from) {
  detail::require_rank(*this, from);
  return {bytes.begin(), bytes.end()};
}

namespace detail {

void require_rank(const ProcessGroup& group, int from) {
  if (from >= 0 && from < group.size()) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "broadcast from process " + std::to_string(from) + " of " + std::to_string(group.size()),
      "processes are numbered from 0");
}

}  // namespace detail
}  // namespace belfry
