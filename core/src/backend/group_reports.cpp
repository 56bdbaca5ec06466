// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/group_reports.h"

namespace belfry::detail {

ErrorReport calls_differ(const std::vector<std::string>& calls) {
  ErrorReport report;
  report.code = ErrorCode::kMergeKinds;
  report.summary = "processes make different calls of their group";
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    ReplicaReport& part = report.replicas.emplace_back();
    part.process = static_cast<int>(rank);
    part.what = "calls " + calls[rank];
  }
  report.expected = "the same calls in the same order in every process";
  return report;
}

ErrorReport process_left(int rank, const std::string& reason) {
  ErrorReport report;
  report.code = ErrorCode::kProcessLost;
  report.summary = processes_text({rank}) + " has left the group";
  if (!reason.empty()) report.summary += ": " + reason;
  report.hint = "every process makes the same calls, and ends after the last of them";
  return report;
}

std::string processes_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "process " : "processes ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace belfry::detail
