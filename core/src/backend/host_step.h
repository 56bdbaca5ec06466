// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"

namespace belfry::detail {

/// A step of the host, outside every run: other agents may go first.
void host_step(const ExecutorParts& parts, const Operation& operation);

}  // namespace belfry::detail
