// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/nest.h"

#include "belfry/distributed_values.h"
#include "belfry/tensor.h"
#include "values/elsewhere.h"

#include <string>
#include <utility>

namespace belfry::detail {

LeafRef tensor_leaf(AnyTensor& tensor) {
  return {tensor.dtype(), tensor.view().count, nullptr, &tensor};
}

std::string describe_tensor(const AnyTensor& tensor) {
  if (tensor.empty() && !is_elsewhere(tensor)) return "an empty tensor";
  return "tensor " + to_string(tensor.dtype()) + to_string(tensor.shape());
}

void throw_bad_component(int index, int size, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "component " + std::to_string(index) + " of a value with " +
                                 std::to_string(size) + " components",
                             "components are numbered from 0 by replica id", site);
}

void throw_no_component(int size, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "none of " + std::to_string(size) + " replicas has a component",
                             "give at least one replica a value", site);
}

void throw_absent_component(int replica, const Participants& present) {
  ErrorReport report;
  report.code = ErrorCode::kInvalidArgument;
  const std::string who = "replica " + std::to_string(replica);
  report.summary = who + " has no component: it took no part";
  report.expected = present.count() == 0 ? "no replica of this process" : "a replica among";
  for (int i = 0; i < present.count(); ++i) {
    report.expected += " " + std::to_string(present.id(i));
  }
  report.hint = "ask has(replica) first, or go over the components there are with for";
  const ProcessTable* const processes = present.processes();
  if (processes != nullptr && processes->process_of(replica) != processes->own) {
    report.summary = who + " is in process " + std::to_string(processes->process_of(replica)) +
                     ", and its component is there: this is process " +
                     std::to_string(processes->own);
    report.hint =
        "go over the replicas of this process: for (const auto& loss : losses); or combine the "
        "values of all processes in the run, with all_reduce or all_gather";
  }
  throw InvalidArgumentError(std::move(report));
}

}  // namespace belfry::detail
