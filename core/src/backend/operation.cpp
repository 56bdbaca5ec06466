// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/operation.h"

namespace belfry {

std::string to_string(const AgentId& agent) {
  constexpr const char* letters = "RMSH";
  return letters[static_cast<int>(agent.kind)] + std::to_string(agent.index);
}

const char* to_string(OperationKind kind) {
  switch (kind) {
    case OperationKind::kStart:
      return "start";
    case OperationKind::kArrive:
      return "arrive";
    case OperationKind::kMerge:
      return "merge";
    case OperationKind::kResume:
      return "resume";
    case OperationKind::kEnd:
      return "end";
    case OperationKind::kThrow:
      return "throw";
    case OperationKind::kVariableRead:
      return "variable_read";
    case OperationKind::kVariableWrite:
      return "variable_write";
    case OperationKind::kHostRead:
      return "host_read";
    case OperationKind::kHostWait:
      return "host_wait";
    case OperationKind::kEnqueue:
      return "enqueue";
    case OperationKind::kExecute:
      return "execute";
    case OperationKind::kAllocate:
      return "allocate";
    case OperationKind::kFree:
      return "free";
    case OperationKind::kRecord:
      return "record";
    case OperationKind::kWait:
      return "wait";
    case OperationKind::kCollective:
      return "collective";
    case OperationKind::kHostValue:
      return "host_value";
    case OperationKind::kRunBegin:
      return "run_begin";
    case OperationKind::kRunEnd:
      return "run_end";
  }
  return "?";
}

}  // namespace belfry
