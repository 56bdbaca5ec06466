// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cluster_environment.h"

#include <optional>

namespace belfry::detail {

/// The process of the task in TF_CONFIG (SEM-202); none if the variable is not set, or has no
/// cluster or no task. Throws: InvalidArgumentError (kInvalidArgument).
std::optional<ProcessIdentity> told_by_tf_config(const Environment& environment, CallSite site);

/// The number of processes of a TF_CONFIG without a task; 0 if the variable has a task, or is not
/// set. Throws: InvalidArgumentError (kInvalidArgument).
int processes_without_task(const Environment& environment, CallSite site);

}  // namespace belfry::detail
