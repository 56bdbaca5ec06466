// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"

#include <array>
#include <cstdint>

namespace belfry::detail {

/// Digests of merges, which processes compare: equal in all processes for merges that belong
/// together. The digest of a merge is kept for the next round, since merges in loops repeat.
class MergeDigest {
 public:
  using Words = std::array<std::uint64_t, 2>;

  /// The digest of the kind, the place or tag, the types, and the description of a request.
  const Words& of(const MergeRequest& request);

 private:
  // The request of the last digest; the type is null if the digest cannot be used again.
  const MergeType* type_ = nullptr;
  CallSite site_{};
  Words words_{};
};

}  // namespace belfry::detail
