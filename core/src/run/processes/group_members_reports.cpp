// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The errors of exchanges in words.
#include "run/processes/group_members.h"
#include "words/with_report.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

using Kind = ProcessMessage::Kind;

ErrorReport describe_difference(const ProcessMessage& first, const ProcessMessage& other) {
  ErrorReport report;
  report.expected = "the same calls in the same order in every process";
  report.hint = "take calls out of branches and loops that depend on the process";
  report.code = ErrorCode::kMergeKinds;
  if (first.kind != other.kind || first.what != other.what) {
    report.summary = "processes make different calls";
    if (first.kind == Kind::kMake || other.kind == Kind::kMake) {
      report.hint =
          "make the same strategies in the same order in every process, each a "
          "MultiWorkerMirroredStrategy with the group";
    }
  } else if (first.strategy != other.strategy) {
    report.code = ErrorCode::kMergePlaces;
    report.summary = "processes use different strategies";
  } else if (first.kind == Kind::kMake) {
    report.code = ErrorCode::kMergePlaces;
    report.summary = "processes make strategies in different orders";
    report.hint = "make the same strategies in the same order in every process";
  } else {
    report.code = ErrorCode::kMergePlaces;
    report.summary = "processes call " + first.what + " at different places";
  }
  return report;
}

}  // namespace

void GroupMembers::throw_peer_failed(const std::vector<ProcessMessage>& all) const {
  ErrorReport report;
  report.code = ErrorCode::kPeerFailed;
  for (std::size_t process = 0; process < all.size(); ++process) {
    const ProcessMessage& message = all[process];
    if (!is_failed(message)) continue;
    if (report.summary.empty()) {
      report.summary = "process " + std::to_string(process) + " failed: " + message.what;
    }
    ReplicaReport& part = report.replicas.emplace_back();
    part.replica_id = message.replica;
    part.site = site_of(message);
    part.what = "failed: " + message.what;
    part.process = static_cast<int>(process);
  }
  report.hint = "the run of this process is not at fault: mend the failure in the other process";
  complete(report);
  throw PeerFailedError(std::move(report));
}

void GroupMembers::throw_mismatch(const std::vector<ProcessMessage>& all,
                                  const std::vector<Bytes>& rounds) const {
  const ProcessMessage& first = speaker_of(all);
  const auto stranger = std::ranges::find_if(all, [&](const ProcessMessage& other) {
    return !same_call(first, other) && (other.kind != first.kind || other.what != first.what);
  });
  const auto elsewhere = std::ranges::find_if(all, [&](const ProcessMessage& other) {
    return !same_call(first, other) || !same_place(first, other);
  });
  ErrorReport report = describe_difference(first, stranger != all.end() ? *stranger : *elsewhere);
  std::vector<std::unique_ptr<RunPicture>> pictures;  // The report points into them.
  const bool is_one_strategy = std::ranges::all_of(all, [&](const ProcessMessage& message) {
    return is_of_group(message) || message.strategy == number_;
  });
  for (std::size_t process = 0; process < all.size(); ++process) {
    const ProcessMessage& message = all[process];
    std::vector<ReplicaReport> parts;
    const bool is_own = message.strategy == number_ && !is_of_group(message);
    if (message.kind == Kind::kRound && is_own && !rounds[process].empty()) {
      const auto& picture = pictures.emplace_back(std::make_unique<RunPicture>(replicas()));
      picture->add(rounds[process]);
      parts = replica_reports(picture->facts());
    } else {
      const char* const verb = message.kind == Kind::kMake ? "makes " : "calls ";
      ReplicaReport& part = parts.emplace_back();
      part.site = site_of(message);
      part.what = message.kind == Kind::kRound ? "runs" : verb + message.what;
      if (listens(message)) part.what = "runs, and none of its replicas takes part";
      if (listens_to_group_merge(message)) part.what = "runs, and waits in other merges";
      if (is_of_group(message)) part.what += " of the group";
    }
    for (ReplicaReport& part : parts) {
      if (!is_one_strategy && !is_of_group(message)) part.what += words_of(message.strategy);
      part.process = static_cast<int>(process);
      report.replicas.push_back(std::move(part));
    }
  }
  complete(report);
  throw_error(std::move(report));
}

// The place of a strategy; only its number, if this process has not made the strategy yet.
std::string GroupMembers::words_of(std::uint64_t strategy) const {
  const CallSite site = group_.site_of_strategy(strategy);
  if (site.empty()) return ", of strategy " + std::to_string(strategy) + " of the group";
  return ", of the strategy made at " + to_string(site);
}

void GroupMembers::complete(ErrorReport& report) const {
  for (ReplicaReport& part : report.replicas) {
    if (part.replica_id >= 0) part.process = process_of(part.replica_id);
    if (part.file != nullptr || part.site.file == nullptr) continue;
    part.file = std::make_shared<const std::string>(part.site.file);
    part.site.file = part.file->c_str();
  }
}

std::exception_ptr GroupMembers::completed(std::exception_ptr thrown) const {
  std::optional<ErrorReport> report = error_report(thrown);
  if (!report) return thrown;
  complete(*report);
  return with_report(std::move(thrown), *report);
}

}  // namespace belfry::detail
