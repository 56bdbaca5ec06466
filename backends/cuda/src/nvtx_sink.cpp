// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "nvtx_sink.h"

#include "nvtx.h"

#include <new>
#include <string>

namespace belfry::cuda {
namespace {

// `replica 1: all_reduce, train.cpp:12`.
std::string text_of(const Operation& operation, const std::string& subject) {
  std::string text = subject;
  if (!operation.name.empty()) text += ": " + std::string(operation.name);
  if (!operation.site.empty()) text += ", " + to_string(operation.site);
  return text;
}

std::string replica_of(const Operation& operation) {
  return "replica " + std::to_string(operation.agent.index);
}

}  // namespace

void NvtxSink::on_operation(const Operation& operation) {
  try {
    const std::lock_guard lock(mutex_);
    show(operation);
  } catch (const std::bad_alloc&) {  // The range is missing.
  }
  if (next_ != nullptr) next_->on_operation(operation);
}

std::string NvtxSink::merge() {
  const std::lock_guard lock(mutex_);
  return merges_.empty() ? std::string() : merges_.back().name;
}

void NvtxSink::show(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kStart:
      open_[operation.agent].push_back({nvtx::begin(replica_of(operation)), true});
      break;
    case OperationKind::kArrive:
      open_[operation.agent].push_back(
          {nvtx::begin(text_of(operation, replica_of(operation) + " at a merge")), false});
      break;
    case OperationKind::kMerge:
      merges_.push_back({nvtx::begin(text_of(operation, "merge")), operation.value,
                         operation.subject, std::string(operation.name)});
      break;
    case OperationKind::kResume:
      end_merge(operation);
      if (auto& ranges = open_[operation.agent]; !ranges.empty() && !ranges.back().is_body) {
        nvtx::end(ranges.back().number);
        ranges.pop_back();
      }
      break;
    case OperationKind::kEnd:
    case OperationKind::kThrow:
      end_body(operation.agent);
      break;
    case OperationKind::kRunEnd:
      if (operation.failed) end_merge(operation);
      break;
    case OperationKind::kVariableWrite:
      nvtx::mark(text_of(operation, "write"));
      break;
    default:
      break;
  }
}

// A body that ends by an exception may be at a merge.
void NvtxSink::end_body(AgentId replica) {
  std::vector<Range>& ranges = open_[replica];
  bool is_body = false;
  while (!ranges.empty() && !is_body) {
    is_body = ranges.back().is_body;
    nvtx::end(ranges.back().number);
    ranges.pop_back();
  }
}

// A merge ends with the first replica that resumes; a merge that threw with the run.
void NvtxSink::end_merge(const Operation& operation) {
  if (merges_.empty()) return;
  const Merge& last = merges_.back();
  const bool is_over = operation.kind == OperationKind::kRunEnd || last.round == operation.subject;
  if (last.run != operation.value || !is_over) return;
  nvtx::end(last.number);
  merges_.pop_back();
}

}  // namespace belfry::cuda
