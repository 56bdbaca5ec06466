// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/host_values.h"

#include "belfry/backend/executor.h"
#include "belfry/detail/strategy_core.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace belfry::detail {
namespace {

std::uint64_t chain(std::uint64_t digest, std::uint64_t word) {
  return (std::rotl(digest, 29) ^ word) * 0x9E3779B97F4A7C15u;
}

}  // namespace

// The length comes first: without it the boundary between neighbours would not count. The digest is
// never 0 from here on.
void HostDigest::add_bytes(const void* bytes, std::size_t count) {
  digest_ = chain(digest_ + 1, count);
  for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(bytes) + at,
                std::min(count - at, sizeof(std::uint64_t)));
    digest_ = chain(digest_, word);
  }
  if (digest_ == 0) digest_ = 1;
}

void note_host_digest(StrategyCore& core, const AgentId& agent, std::uint64_t digest) {
  if (digest == 0) return;
  core.backend().executor().announce(
      {.kind = OperationKind::kHostValue, .agent = agent, .value = digest});
}

}  // namespace belfry::detail
