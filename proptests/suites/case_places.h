// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/backend_factory.h"
#include "belfry/testing/process_contracts.h"
#include "belfry/testing/process_place.h"

#include <functional>

namespace belfry::testing {

/// The place of a process in a case of a suite, and the strategies under test.
struct CasePlace : ProcessPlace {
  const ProcessStrategies& strategies;
};

/// Runs the cases of suites in several processes.
class CasePlaces {
 public:
  virtual ~CasePlaces() = default;
  /// Checks a property. `run_case` is the case in one process: draws values, the same in all
  /// processes, before the first call of the group. `own_work` returns the work of all
  /// benches of this program so far. Returns the work of other programs for the same cases.
  virtual DeviceWork check(const std::function<void(const CasePlace&)>& run_case,
                           const std::function<DeviceWork()>& own_work) const = 0;
};

/// The places of the suites of this test program; null: a single process.
inline const CasePlaces* case_places = nullptr;

}  // namespace belfry::testing
