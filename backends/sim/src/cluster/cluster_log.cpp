// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/sim/cluster_log.h"

#include "engine/digest.h"

#include <new>

namespace belfry::sim {

ClusterLog::ClusterLog(int hosts, std::size_t limit)
    : hosts_(limit), backends_(static_cast<std::size_t>(hosts)) {}

std::uint64_t ClusterLog::size() const {
  std::uint64_t all = hosts_.size();
  for (const Log& backend : backends_) all += backend.size();
  return all;
}

std::uint64_t ClusterLog::hash() const {
  if (backends_.empty()) return 0;
  std::uint64_t all = engine::mix(hosts_.hash(), turns_hash_);
  for (const Log& backend : backends_) all = engine::mix(all, backend.hash());
  return all;
}

// A turn ends only where another host makes an operation: all operations of a backend since its
// host's last operation belong between.
void ClusterLog::append(const Operation& operation, std::uint64_t operations) {
  turns_hash_ = engine::mix(turns_hash_ ^ static_cast<std::uint32_t>(turn_), operations);
  const std::size_t kept = hosts_.records().size();
  hosts_.append(operation);
  const Turn before{turn_, operations};
  turn_ = operation.agent.index;
  if (hosts_.records().size() == kept) return;
  try {
    turns_.push_back(before);
  } catch (const std::bad_alloc&) {  // The order of later operations is not kept.
  }
}

}  // namespace belfry::sim
