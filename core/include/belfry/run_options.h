// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

namespace belfry {

/// How `run` carries the replicas.
struct RunOptions {
  /// False asks for the serial schedule: in each round replica 0 first, then 1, and so on.
  bool concurrent = true;
  /// Where `run` was called, for messages.
  CallSite site = CallSite::here();
};

/// Names a merge whose call site differs between replicas on purpose:
/// `replica.merge_call(MergeTag{"sync"}, fn, value)`.
struct MergeTag {
  const char* name;
  CallSite site = CallSite::here();
};

}  // namespace belfry
