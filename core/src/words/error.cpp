// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"

#include "words/error_classes.h"

#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace belfry {
namespace {

// `0,2-5` for 0, 2, 3, 4, 5.
std::string ranges_of(const std::vector<int>& ids) {
  std::string text;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t last = i;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ids[i]);
    if (last > i) {
      text += last == i + 1 ? ',' : '-';
      text += std::to_string(ids[last]);
    }
    i = last + 1;
  }
  return text;
}

struct Group {
  const ReplicaReport* first;
  std::vector<int> ids;
};

// Replicas of a process with equal states and places, in order of first appearance. The part of a
// whole process is no replica's.
std::vector<Group> group(const std::vector<ReplicaReport>& replicas) {
  std::vector<Group> groups;
  std::map<std::tuple<int, bool, std::string_view, int, std::string_view>, std::size_t> index;
  for (const ReplicaReport& replica : replicas) {
    const auto [place, added] =
        index.try_emplace({replica.process, replica.replica_id < 0, replica.site.file,
                           replica.site.line, replica.what},
                          groups.size());
    if (added) groups.push_back({&replica, {}});
    groups[place->second].ids.push_back(replica.replica_id);
  }
  return groups;
}

// `replica 2`, `replicas 0-3`, `process 1, replica 2`, `process 1`.
std::string label_of(const Group& same) {
  const int process = same.first->process;
  if (process < 0 || same.first->replica_id >= 0) {
    const std::string_view noun = same.ids.size() == 1 ? "replica " : "replicas ";
    const std::string owner = process < 0 ? "" : "process " + std::to_string(process) + ", ";
    return owner + std::string(noun) + ranges_of(same.ids);
  }
  return "process " + std::to_string(process);
}

// The label, the place and the state.
std::string line_of(const Group& same) {
  std::string text = label_of(same);
  if (!same.first->site.empty()) text += "  " + to_string(same.first->site);
  if (!same.first->what.empty()) text += "  " + same.first->what;
  return text;
}

void append_line(std::string& text, std::string_view label, std::string_view value) {
  text += "\n  ";
  text += label;
  text += value;
}

}  // namespace

std::string to_string(const ReplicaReport& report) {
  return line_of({&report, {report.replica_id}});
}

std::string to_string(const ScheduleReport& report) {
  const std::string seed = "seed " + std::to_string(report.seed);
  return report.token.empty() ? seed : seed + ", replay " + report.token;
}

std::string to_string(const ErrorReport& report) {
  std::string text = to_string(report.code) + ' ' + report.summary;
  if (!report.site.empty()) append_line(text, "at ", to_string(report.site));
  for (const Group& same : group(report.replicas)) {
    append_line(text, line_of(same), "");
  }
  if (!report.expected.empty()) append_line(text, "expected: ", report.expected);
  if (!report.hint.empty()) append_line(text, "hint: ", report.hint);
  return text;
}

std::string describe(const ErrorReport& report) {
  std::string text = to_string(report);
  if (!report.schedule) return text;
  append_line(text, "seed: ", std::to_string(report.schedule->seed));
  if (!report.schedule->token.empty()) append_line(text, "replay: ", report.schedule->token);
  return text;
}

Error::Error(ErrorReport report) {
  std::string text = to_string(report);
  shared_ = std::make_shared<const Shared>(Shared{std::move(report), std::move(text)});
}

Error::Error(ErrorCode code, std::string summary, std::string hint, CallSite site)
    : Error(ErrorReport{.code = code,
                        .summary = std::move(summary),
                        .site = site,
                        .replicas = {},
                        .expected = {},
                        .hint = std::move(hint)}) {}

const char* Error::what() const noexcept { return shared_->text.c_str(); }

// A code missing here is an error of the compiler, in builds of every kind.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
namespace {

// The position of a class in ErrorClasses.
template <class E>
constexpr std::size_t kIndex = detail::ErrorClasses::index_of<E>();

// clang-format off
std::size_t class_of(ErrorCode code) {
  using enum ErrorCode;
  switch (code) {
    case kWrongContext: case kStrategyBusy: case kRunFailed: case kOtherStrategy:
    case kMergeNested: case kGroupContext:
      return kIndex<ContextError>;
    case kMergeMissing: case kMergePlaces: case kMergeKinds: case kMergeTypes:
    case kMergeUnnamed: case kReplicaStalled: case kDeadline:
      return kIndex<MergeMismatchError>;
    case kStructure:
      return kIndex<StructureMismatchError>;
    case kCapturedValue: case kShape: case kDType: case kInvalidArgument: case kNoDevices:
    case kDuplicateDevice: case kUnknownDevice: case kDeviceString: case kIntegerMean:
    case kNoAggregation: case kSumOfMirrored: case kDestination: case kFileFormat: case kFile:
    case kVariableEmpty: case kOutOfBounds: case kForeignObject: case kReplay:
    case kNotDeterministic: case kSumOverflow:
      return kIndex<InvalidArgumentError>;
    case kVariableMismatch: case kVariableForeign: case kMirroredDiverged: case kTransaction:
      return kIndex<VariableMismatchError>;
    case kOutOfMemory: case kUninitialised: case kDeviceLost: case kNoDriver: case kDeadlock:
    case kStackOverflow: case kLeak:
      return kIndex<DeviceError>;
    case kProcessLost:
      return kIndex<ProcessLostError>;
    case kPeerFailed:
      return kIndex<PeerFailedError>;
    case kUnsupported:
      return kIndex<UnsupportedError>;
    case kStrategyContract:
      return kIndex<StrategyError>;
    case kReplicaThrew: case kMergeThrew:  // Of reports alone.
    case kInternal:
      return kIndex<InternalError>;
  }
  return kIndex<InternalError>;  // A number without an enumerator.
}
// clang-format on

}  // namespace

void throw_error(ErrorReport report) {
  const std::size_t index = class_of(report.code);
  detail::ErrorClasses::throw_one(index, std::move(report));
}
#pragma GCC diagnostic pop

void throw_internal(std::string_view what, CallSite site) {
  throw InternalError(ErrorCode::kInternal, std::string(what),
                      "this is a defect of belfry: please report it", site);
}

}  // namespace belfry
