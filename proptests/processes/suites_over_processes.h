// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/process_contracts.h"

#include <rapidcheck.h>

#include <vector>

namespace belfry::testing {

/// Leaves out the tests of docs/data/suites_over_processes.txt, or of the file that the environment
/// variable BELFRY_LEFT_OUT_TESTS names. Context: between InitGoogleTest and
/// RUN_ALL_TESTS. Throws: std::runtime_error for a row without a reason, or of no test.
void leave_out_tests();

/// The numbers of devices of `processes` processes: 0 to 4 each, and at least one in all.
rc::Gen<std::vector<int>> device_counts_of(int processes);

/// The strategies under test: MultiWorkerMirroredStrategy, or the wrong strategy that the
/// environment variable BELFRY_WRONG_STRATEGY names. Throws: std::runtime_error for other names.
const ProcessStrategies& suite_strategies();

}  // namespace belfry::testing
