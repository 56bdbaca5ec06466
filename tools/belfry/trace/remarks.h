// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace.h"

#include <string>
#include <vector>

namespace belfry::tool {

/// Sentences about frequent mistakes without a failure, with lines and replicas:
/// - nothing reads a value of a replica at a merge;
/// - a merge gets results of different operations from two replicas;
/// - a replica goes on with the value of a variable of before a change;
/// - between two merges a replica leaves out an operation of the others.
/// A remark about a line stands once. A failed run, a single replica and a trace with a part of the
/// steps have no remarks.
std::vector<std::string> remarks_on(const Trace& trace);

}  // namespace belfry::tool
