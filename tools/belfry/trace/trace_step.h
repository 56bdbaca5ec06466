// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace belfry::tool {

/// The failure of a run or a program.
struct TraceFailure {
  std::string code{};  ///< `BF-012`; empty for an exception of the user.
  std::string text{};
  std::vector<std::string> replicas{};  ///< Numbers; -1: a whole process.
  std::vector<std::string> lines{};     ///< Of the replicas, or of the failed call.
  std::vector<std::string> parts{};     ///< Of the replicas: `waits in merge_call #1`.
  std::string hint{};
};

/// An operand or result of a step.
struct TraceValue {
  std::string type{};
  std::vector<std::int64_t> shape{};
  std::vector<std::string> first{};  ///< The first elements, as in the file; empty: not known.
  std::int64_t count = 0;            ///< Of all elements.
  std::string digest{};
  std::int64_t buffer = -1;
  std::string leaf{};  ///< The path in a nest.
  std::string text{};  ///< Of a type of the program.

  /// Whether the contents are known.
  bool known() const { return !first.empty() || !digest.empty() || !text.empty(); }
};

/// Whether two values are known to differ in type, shape or contents.
bool differ(const TraceValue& one, const TraceValue& other);
bool differ(const std::vector<TraceValue>& some, const std::vector<TraceValue>& others);

/// `[1, 2]`, `3`, `[1, 2, ...] of 100`, `float32[2], not known`, with the leaf in front.
std::string to_string(const TraceValue& value);
/// The values of a nest.
std::string to_string(const std::vector<TraceValue>& values);

enum class StepKind : std::uint8_t {
  kRunBegin,
  kRunEnd,
  kStart,
  kEnd,
  kThrow,
  kArrive,
  kMerge,
  kResume,
  kVariableRead,
  kVariableWrite,
  kVariableMade,
  kEnqueue,
  kExecute,
  kCollective,
  kRecord,
  kWait,
  kHostRead,
  kHostWait,
  kAllocate,
  kFree,
  kHostValue,
  kCall,
  kOther,  ///< Of a later version.
};

/// The kind with the name in a trace.
StepKind step_kind(std::string_view name);

/// A step of an agent. A number is -1, and a text empty, if the step has none.
struct TraceStep {
  std::int64_t step = 0;
  StepKind kind = StepKind::kOther;
  std::string kind_name{};
  int agent = 0;     ///< An index of Trace::agents.
  int stream = -1;   ///< The same.
  int awaited = -1;  ///< The stream that `stream` waits for.
  std::int64_t run = -1;
  std::int64_t round = -1;
  std::int64_t item = -1;
  std::int64_t variable = -1;
  std::int64_t version = -1;
  std::int64_t members = -1;
  std::int64_t replicas = -1;
  std::int64_t replica = -1;  ///< Of a write by merges or the host: whose component.
  std::string group{};        ///< Of a merge of a group: its members, `{0, 2}`.
  std::string name{};
  std::string op{};
  std::string line{};
  std::string event{};                ///< Of a record or wait.
  std::string error{};                ///< Of a throw.
  std::vector<std::int64_t> after{};  ///< Steps of the same trace, in the order of the file.
  std::vector<TraceValue> brings{};
  std::vector<TraceValue> gets{};
  std::vector<TraceValue> reads{};
  std::vector<TraceValue> writes{};
  bool failed = false;
  std::optional<TraceFailure> failure{};
  bool bookkeeping = false;
  /// Merges and calls of the group up to here: 2n - 1 for the n-th of them, 2n for steps after it.
  std::int64_t phase = 0;
};

/// A merge: the run, the group, and the number among the merges of the group in the run.
using MergeId = std::tuple<std::int64_t, std::string, std::int64_t>;
/// The merge of an arrival, a merge or a resume.
MergeId merge_of(const TraceStep& step);

/// Whether the step is work of a stream: a kernel, a copy, or a part of a collective.
bool is_work(const TraceStep& step);
/// The line without folders: `train.cpp:9`.
std::string short_line(std::string_view line);
/// The kernel, verb or variable and the line: `scale at train.cpp:9`.
std::string place_of(const TraceStep& step);

}  // namespace belfry::tool
