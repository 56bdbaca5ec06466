// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/group_reports.h"

namespace belfry::detail {
namespace {

bool is_consequence(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ProcessLostError&) {
    return true;
  } catch (const PeerFailedError&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::string listed(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

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
  return (ranks.size() == 1 ? "process " : "processes ") + listed(ranks);
}

std::string replicas_text(const std::vector<int>& ids) {
  return (ids.size() == 1 ? "replica " : "replicas ") + listed(ids);
}

void rethrow_cause(const std::vector<std::exception_ptr>& thrown) {
  for (const std::exception_ptr& error : thrown) {
    if (error != nullptr && !is_consequence(error)) std::rethrow_exception(error);
  }
  for (const std::exception_ptr& error : thrown) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace belfry::detail
