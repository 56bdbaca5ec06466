// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"
#include "belfry/testing/process_contracts.h"

#include <functional>
#include <numeric>
#include <vector>

namespace belfry::testing {

/// The place of a process in a case of a suite with several processes.
struct CasePlace {
  ProcessGroup& group;
  const ProcessStrategies& strategies;  ///< The strategies under test.
  std::vector<int> devices_of;          ///< The numbers of devices, by process.
  Backend* backend = nullptr;           ///< The devices of the process; null: by the factory.

  int devices() const { return devices_of[static_cast<std::size_t>(group.rank())]; }
  int replicas() const { return std::accumulate(devices_of.begin(), devices_of.end(), 0); }
  int first_replica() const {
    return std::accumulate(devices_of.begin(), devices_of.begin() + group.rank(), 0);
  }
};

/// Runs the cases of suites in several processes.
class CasePlaces {
 public:
  virtual ~CasePlaces() = default;
  /// Checks a property. `run_case` is the case in one process: draws values, the same in all
  /// processes, before the first call of the group.
  virtual void check(const std::function<void(const CasePlace&)>& run_case) const = 0;
};

/// The places of the suites of this test program; null: a single process.
inline const CasePlaces* case_places = nullptr;

}  // namespace belfry::testing
