// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <functional>

namespace belfry::testing {

/// Calls `body` once in each process of new groups of the kind under test; the process leaves its
/// group at the end of `body`. Each test program defines the function for a kind of groups:
/// the lone process, with threads and simulated hosts in groups of several sizes; or the processes
/// that mpirun has started.
void on_each_process(const std::function<void(ProcessGroup&)>& body);

}  // namespace belfry::testing
