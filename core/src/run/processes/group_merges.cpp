// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Merges of groups with members in several processes (SEM-288). All processes are in the exchange
// of a round, and know the same groups.
#include "belfry/detail/participants.h"
#include "run/processes/group_members.h"
#include "run/rounds/run_report.h"

#include <cstddef>
#include <vector>

namespace belfry::detail {

bool GroupMembers::merge_groups(const RunFacts& own, const std::vector<Participants>& groups,
                                CallSite run) {
  std::vector<bool> of_run;
  for (int process = 0; process < processes(); ++process) of_run.push_back(is_listener(process));
  const auto here = static_cast<std::size_t>(rank());
  bool any = false;
  for (const Participants& members : groups) {
    std::vector<bool> of_group(of_run.size(), true);
    for (int i = 0; i < members.count(); ++i) {
      of_group[static_cast<std::size_t>(process_of(members.id(i)))] = false;
    }
    set_listeners(of_group);
    if (of_group[here]) {
      listen_to_group_merge(*own.cross, run);
    } else {
      if (!(*own.merge_group)(members)) return true;
      any = true;
      // Processes that listen to the run listen on.
      if (of_group != of_run) exchange(kEndOfGroupMerge, {}, Bytes());
    }
    set_listeners(of_run);
  }
  return any;
}

}  // namespace belfry::detail
