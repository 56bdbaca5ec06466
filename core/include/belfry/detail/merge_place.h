// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/strategy/run_options.h"

namespace belfry::detail {

/// The place of a merge: its call site and, if the call has a tag, the tag. Verbs that merge have a
/// place as their last parameter; call sites and tags convert to places implicitly. The tag lies on
/// the stack of the replica that waits, and outlives the merge.
struct MergePlace {
  MergePlace(CallSite where = {}) : site(where) {}                      // NOLINT: implicit.
  MergePlace(const char* file, int line) : site{file, line} {}          // NOLINT: `{file, line}`.
  MergePlace(const MergeTag& named) : site(named.site), tag(&named) {}  // NOLINT: implicit.

  CallSite site;
  const MergeTag* tag = nullptr;
};

}  // namespace belfry::detail
