// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/log.h"

#include <string>
#include <vector>

namespace belfry::sim {

/// A line with several merges without names in a run: replicas that bring their values in different
/// orders meet at the line all the same, and nobody notices.
struct UnnamedMerges {
  CallSite site{};
  int count = 0;  ///< The most in a run.
};

/// `3 merges at train.cpp:5 have no names: their order is not compared`.
std::string to_string(const UnnamedMerges& merges);

/// The lines of the kept merges with two merges or more in a run, in the order of the log.
std::vector<UnnamedMerges> unnamed_merges(const Log& log);

}  // namespace belfry::sim
