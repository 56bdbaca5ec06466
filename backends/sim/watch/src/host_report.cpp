// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host_watcher.h"
#include "long_vectors.h"
#include "pointer_calls.h"
#include "source_lines.h"
#include "unseen_calls.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>

// The report of a watch: places become addresses in the user's statements.
namespace belfry::sim::watch {
namespace {

// A return address is the address of the next instruction, which may belong to the next line.
const void* inside(const void* return_address) {
  return static_cast<const char*>(return_address) - 1;
}

bool is_lock(std::string_view name) {
  return name.starts_with("pthread_mutex_") || name.starts_with("pthread_cond_") ||
         name.starts_with("pthread_rwlock_") || name.starts_with("pthread_spin_") ||
         name.starts_with("sem_") || name.starts_with("_ZNSt18condition_variable");
}

}  // namespace

CallSite HostWatcher::source_site(const void* pc) { return source_lines().users_site(pc); }

// The innermost call with a line of the user; else a statement before the access, as optimized code
// may have lost the line; without line tables, the access itself. The outermost call is belfry's,
// of a replica, a merge or a body, and no line of the user even if belfry has line tables.
HostAccess HostWatcher::resolved(const PlacedAccess& access) {
  const CallTree::Node& node = tree_.at(access.place);
  if (node.maker == Maker::kLibrary) {
    return {access.actor, access.write, nullptr, sites_[node.code]};
  }
  const bool of_kernel = node.maker == Maker::kKernel;
  const bool releases = node.maker == Maker::kRelease;
  for (Place at = access.place; at != CallTree::kRoot; at = tree_.at(at).parent) {
    if (at != access.place && tree_.at(at).parent == CallTree::kRoot) break;
    const void* const address = address_of_code(tree_.at(at).code);
    if (address == nullptr) continue;
    const SourceLines::Position position = source_lines().users_position(inside(address));
    if (position.site.empty()) continue;
    return {access.actor, access.write, inside(address), {}, of_kernel, releases, position.is_near};
  }
  const void* address = address_of_code(node.code);
  if (address != nullptr) address = source_lines().statement_before(inside(address));
  return {access.actor, access.write, address, {}, of_kernel, releases, true};
}

// A statement that reads and writes makes several pairs of accesses: the first stands for all.
// Pairs with the lines of both accesses come first.
std::vector<HostConflict> HostWatcher::resolved(const std::vector<ConflictList::Pair>& pairs) {
  std::vector<HostConflict> conflicts;
  std::ptrdiff_t exact = 0;
  std::set<std::pair<std::string, std::string>> positions;
  for (const ConflictList::Pair& pair : pairs) {
    const HostConflict found{pair.address, pair.bytes, resolved(pair.first), resolved(pair.second)};
    const auto position =
        std::pair(watch::source_line(found.first), watch::source_line(found.second));
    const bool is_unknown = position.first.empty() || position.second.empty();
    if (!is_unknown && !positions.insert(position).second) continue;
    const bool is_exact = !found.first.is_near && !found.second.is_near;
    conflicts.insert(is_exact ? conflicts.begin() + exact++ : conflicts.end(), found);
  }
  return conflicts;
}

std::vector<std::string> HostWatcher::unseen(HostReport& report) {
  const std::set<std::string> audited = audit_.take();
  std::vector<std::string> unseen(also_unseen_.begin(), also_unseen_.end());
  for (const std::string& name : unseen_calls()) {
    if (is_lock(name)) {
      report.used_locks = true;
    } else if (name.starts_with('~')) {
      report.new_answers.push_back(readable(name.substr(1)));
    } else {
      unseen.push_back(readable(name));
    }
  }
  for (const void* const target : pointer_calls()) {
    const std::string name = source_lines().name_at(target);
    if (!is_known_function(name)) unseen.push_back(readable(name));
  }
  if (are_pointer_calls_missing()) {
    unseen.emplace_back("more functions called by pointers than a watch can name");
  }
  std::ranges::copy(long_vectors(), std::back_inserter(unseen));
  std::ranges::copy(audited, std::back_inserter(unseen));
  if (too_many_replicas_) unseen.emplace_back("more replicas than a watch of variables can name");
  if (foreign_stack_) unseen.emplace_back("a replica used the stack of a different replica");
  std::ranges::sort(unseen);
  unseen.erase(std::ranges::unique(unseen).begin(), unseen.end());
  return unseen;
}

// Whether all changes of shared counts are those of libstdc++.
bool HostWatcher::counts_owners() const {
  return std::ranges::all_of(owner_counts_, [](const void* place) {
    return place != nullptr && source_lines().is_of(inside(place), "/ext/atomicity.h");
  });
}

HostReport HostWatcher::stop() {
  if (belfry_watch_active == 0) return {};
  leave();
  belfry_watch_active = 0;
  ended_.give_back();
  HostReport report;
  report.conflicts = resolved(conflicts_.pairs());
  report.kernel_access = kernel_access_;
  if (report.kernel_access) report.kernel_access->access = resolved(kernel_place_);
  report.accesses = accesses_;
  report.clocks.assign(clocks_.begin(), clocks_.end());
  report.used_locks = used_locks_;
  report.used_atomics = used_atomics_ || !counts_owners();
  report.shared_last_owner = shared_last_owner_;
  report.second_thread = second_thread_;
  report.unseen = unseen(report);
  audit_.begin(false);
  report.single_writer_reads_in_merges = resolved(merge_reads_.notes());
  return report;
}

}  // namespace belfry::sim::watch
