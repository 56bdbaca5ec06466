// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"

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

bool has_place(const CallSite& site) { return *site.file != '\0'; }

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

void append_line(std::string& text, std::string_view label, std::string_view value) {
  text += "\n  ";
  text += label;
  text += value;
}

}  // namespace

std::string to_string(const ErrorReport& report) {
  std::string text = to_string(report.code) + ' ' + report.summary;
  if (has_place(report.site)) append_line(text, "at ", to_string(report.site));
  for (const Group& same : group(report.replicas)) {
    append_line(text, label_of(same), "");
    if (has_place(same.first->site)) text += "  " + to_string(same.first->site);
    if (!same.first->what.empty()) text += "  " + same.first->what;
  }
  if (!report.expected.empty()) append_line(text, "expected: ", report.expected);
  if (!report.hint.empty()) append_line(text, "hint: ", report.hint);
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

// Errors of devices, groups of processes, and belfry itself.
[[noreturn]] static void throw_outside_error(ErrorReport report) {
  switch (report.code) {
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kUninitialised:
    case ErrorCode::kDeviceLost:
    case ErrorCode::kNoDriver:
    case ErrorCode::kDeadlock:
    case ErrorCode::kStackOverflow:
    case ErrorCode::kLeak:
      throw DeviceError(std::move(report));
    case ErrorCode::kProcessLost:
      throw ProcessLostError(std::move(report));
    case ErrorCode::kPeerFailed:
      throw PeerFailedError(std::move(report));
    default:
      throw InternalError(std::move(report));
  }
}

void throw_error(ErrorReport report) {
  switch (report.code) {
    case ErrorCode::kWrongContext:
    case ErrorCode::kStrategyBusy:
    case ErrorCode::kRunFailed:
    case ErrorCode::kOtherStrategy:
    case ErrorCode::kMergeNested:
      throw ContextError(std::move(report));
    case ErrorCode::kMergeMissing:
    case ErrorCode::kMergePlaces:
    case ErrorCode::kMergeKinds:
    case ErrorCode::kMergeTypes:
    case ErrorCode::kMergeUnnamed:
    case ErrorCode::kReplicaStalled:
      throw MergeMismatchError(std::move(report));
    case ErrorCode::kStructure:
      throw StructureMismatchError(std::move(report));
    case ErrorCode::kCapturedValue:
    case ErrorCode::kShape:
    case ErrorCode::kDType:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNoDevices:
    case ErrorCode::kDuplicateDevice:
    case ErrorCode::kUnknownDevice:
    case ErrorCode::kDeviceString:
    case ErrorCode::kIntegerMean:
    case ErrorCode::kNoAggregation:
    case ErrorCode::kSumOfMirrored:
    case ErrorCode::kDestination:
    case ErrorCode::kFileFormat:
    case ErrorCode::kFile:
    case ErrorCode::kOutOfBounds:
    case ErrorCode::kForeignObject:
    case ErrorCode::kReplay:
    case ErrorCode::kNotDeterministic:
    case ErrorCode::kVariableEmpty:
      throw InvalidArgumentError(std::move(report));
    case ErrorCode::kVariableMismatch:
    case ErrorCode::kVariableForeign:
    case ErrorCode::kMirroredDiverged:
    case ErrorCode::kTransaction:
      throw VariableMismatchError(std::move(report));
    case ErrorCode::kUnsupported:
      throw UnsupportedError(std::move(report));
    case ErrorCode::kStrategyContract:
      throw StrategyError(std::move(report));
    default:
      throw_outside_error(std::move(report));
  }
}

void throw_internal(std::string_view what, CallSite site) {
  throw InternalError(ErrorCode::kInternal, std::string(what),
                      "this is a defect of belfry: please report it", site);
}

}  // namespace belfry
