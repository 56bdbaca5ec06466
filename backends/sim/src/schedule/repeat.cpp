// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/repeat.h"

#include "belfry/error.h"

#include <algorithm>
#include <cstddef>

namespace belfry::sim {

void repeat_and_compare(const Options& options, const std::function<void(Backend&)>& program,
                        CallSite site) {
  Options watched = options;
  watched.record = true;
  watched.digests = Digests::kAll;
  watched.record_limit = std::max(watched.record_limit, std::size_t{1} << 20);
  Backend first{watched};
  program(first);
  Backend second{watched};
  program(second);
  const auto difference = compare(first.log(), second.log());
  if (!difference) return;
  throw InvalidArgumentError(
      ErrorCode::kNotDeterministic, "two runs of one schedule differ: " + difference->text,
      "look for state that is kept between runs, the order of unordered containers or of "
      "addresses, clocks, and random numbers that no seed decides",
      site);
}

}  // namespace belfry::sim
