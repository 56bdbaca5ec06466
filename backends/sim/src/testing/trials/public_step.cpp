// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/public_step.h"

#include <array>
#include <iterator>

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;

struct Row {
  Kind kind;
  const char* name;
  bool is_private;
};

constexpr Row kRows[] = {
    {Kind::kOwnSlot, "own slot", true},
    {Kind::kReadCell, "read cell", true},
    {Kind::kWriteCell, "write cell", false},
    {Kind::kMultiply, "multiply own", true},
    {Kind::kAddShared, "add shared", true},
    {Kind::kScaleOwn, "scale own", true},
    {Kind::kTakeHandle, "take handle", true},
    {Kind::kScaleShared, "scale shared", false},
    {Kind::kAssignShared, "assign shared", false},
    {Kind::kReadOwn, "read own", true},
    {Kind::kCopyAcross, "copy across", true},
    {Kind::kRawWrite, "raw write", false},
    {Kind::kLaunchOwn, "launch own", true},
    {Kind::kLaunchMix, "launch mix", true},
    {Kind::kLaunchCell, "launch cell", false},
    {Kind::kReadTotal, "read total", true},
    {Kind::kAddLocal, "add local", true},
    {Kind::kThrow, "throw", true},
    {Kind::kAllReduce, "all-reduce", true},
    {Kind::kMergeCell, "merge cell", true},
    {Kind::kMergeOwn, "merge own", true},
    {Kind::kMergeTensors, "merge tensors", true},
    {Kind::kUpdate, "update", true},
    {Kind::kNestedRun, "nested run", true},
    {Kind::kNestedReduce, "nested reduce", true},
    {Kind::kAssignAdd, "assign-add", true},
    {Kind::kMakeVariable, "make variable", true},
    {Kind::kMakeLocal, "make local", true},
    {Kind::kThrowInMerge, "throw in merge", true},
    {Kind::kAllGather, "all-gather", true},
    {Kind::kReduceScatter, "reduce-scatter", true},
    {Kind::kAllToAll, "all-to-all", true},
    {Kind::kBroadcast, "broadcast", true},
    {Kind::kPermute, "permute", true},
    {Kind::kScatterFrom, "scatter-from", true},
    {Kind::kGatherTo, "gather-to", true},
    {Kind::kSharded, "sharded", true},
};

constexpr bool is_complete() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].kind != static_cast<Kind>(i)) return false;
  }
  return std::size(kRows) == static_cast<std::size_t>(Kind::kKinds);
}
static_assert(is_complete());

}  // namespace

bool is_together(Kind kind) { return kind >= Kind::kAllReduce; }
bool is_exchange(const PublicStep& step) { return step.kind >= Kind::kAllGather || step.axis > 0; }
bool is_of_tensors(const PublicStep& step) {
  if (step.kind == Kind::kAllReduce) return true;
  return step.kind >= Kind::kAllGather && step.kind != Kind::kSharded && step.a == 1;
}
bool is_private(Kind kind) { return kRows[static_cast<std::size_t>(kind)].is_private; }
bool is_rare(Kind kind) { return kind == Kind::kThrow || kind == Kind::kThrowInMerge; }

std::optional<HostTouch> touch_of(const PublicStep& step) {
  const std::size_t cell = step.a % kCells;
  const std::size_t handle = kCells + step.a % kShared;
  switch (step.kind) {
    case Kind::kReadCell:
      return HostTouch{.object = cell};
    case Kind::kWriteCell:
      return HostTouch{.object = cell, .writes = true, .may_write = true};
    case Kind::kLaunchCell:
      return HostTouch{.object = cell, .writes = true, .may_write = true, .in_kernel = true};
    case Kind::kAddShared:
    case Kind::kTakeHandle:
    case Kind::kLaunchMix:
      return HostTouch{.object = handle};
    case Kind::kScaleShared:  // The handle changes if the storage has a second owner.
      return HostTouch{.object = handle, .may_write = true};
    case Kind::kAssignShared:
      return HostTouch{.object = handle, .writes = true, .may_write = true};
    default:
      return std::nullopt;
  }
}

ReduceOp operator_of(const PublicStep& step) {
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kMean,
                               ReduceOp::kProd};
  return kOps[(step.a + 2 * step.b + step.root) % std::size(kOps)];
}

std::string to_string(Kind kind) { return kRows[static_cast<std::size_t>(kind)].name; }

std::string to_string(const PublicStep& step) {
  std::string text =
      to_string(step.kind) + ' ' + std::to_string(step.a) + " (" + std::to_string(step.b) + ')';
  if (is_exchange(step)) text += " root " + std::to_string(step.root);
  if (step.axis > 0) text += " axis " + std::to_string(step.axis);
  return step.swaps ? text + " swapped" : text;
}

}  // namespace belfry::sim::testing
