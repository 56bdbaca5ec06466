// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_point.h"
#include "belfry/detail/merge_request.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace belfry::detail {

/// The merges without a tag, and the variables without a name, that each replica has reached in a
/// run whose strategy requires names. A replica may reach each call once: order alone would
/// distinguish the next values from the first (SEM-133). Every replica has its own list, and
/// replicas that run side by side need no lock.
class UnnamedMerges {
 public:
  explicit UnnamedMerges(int replicas) : reached_(static_cast<std::size_t>(replicas)) {}

  /// Notes that `replica` reaches merge number `merge`. Throws: MergeMismatchError (kMergeUnnamed)
  /// if `request` has no tag and the replica has reached the same call before.
  void reach(int replica, const MergeRequest& request, std::uint32_t merge);
  /// The same for a variable; a name in the variable's options counts as a tag.
  void reach(int replica, const VariableRequest& request);

 private:
  // File, line and kind.
  using Call = std::tuple<std::string_view, int, std::string_view>;

  bool is_first(int replica, const CallSite& site, std::string_view kind) {
    const Call call{site.file, site.line, kind};
    return reached_[static_cast<std::size_t>(replica)].insert(call).second;
  }

  std::vector<std::set<Call>> reached_;
};

}  // namespace belfry::detail
