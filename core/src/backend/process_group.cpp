// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/process_group.h"

#include "belfry/detail/group_reports.h"
#include "belfry/error.h"

#include <utility>

namespace belfry {

std::string to_string(const GroupHealth& health) {
  const std::string deadline = ", deadline " + detail::words_of(health.deadline);
  if (health.is_whole()) return "whole" + deadline;
  if (health.lost.empty()) return "failed" + deadline;
  return detail::processes_text(health.lost) + " lost" + deadline;
}

FoldedBytes ProcessGroup::fold(std::span<const std::byte> bytes, Fold fold) {
  std::vector<std::vector<std::byte>> all = gather(bytes);
  const std::vector<std::span<const std::byte>> messages(all.begin(), all.end());
  std::optional<std::vector<std::byte>> result = fold(messages);
  if (!result) return {.all = std::move(all)};
  return {.result = std::make_shared<const std::vector<std::byte>>(*std::move(result))};
}

std::string ProcessGroup::host_name(int process) const {
  detail::require_rank(*this, process, "the host of");
  return "localhost";
}

GroupHealth ProcessGroup::health() { return {}; }

void ProcessGroup::do_set_deadline(Deadline) {}

void ProcessGroup::do_wait_for_file(bool) {}

std::string ProcessGroup::description() const {
  return "process " + std::to_string(rank()) + " of " + std::to_string(size()) + " on host " +
         host_name(rank());
}

std::vector<std::vector<std::byte>> SingleProcess::gather(std::span<const std::byte> bytes) {
  return {{bytes.begin(), bytes.end()}};
}

std::vector<std::byte> SingleProcess::broadcast(std::span<const std::byte> bytes, int from) {
  detail::require_rank(*this, from);
  return {bytes.begin(), bytes.end()};
}

std::string SingleProcess::host_name(int process) const {
  detail::require_rank(*this, process, "the host of");
  return host_;
}

namespace detail {

std::string text_of(const CallNames::Name& name, const std::string& otherwise) {
  if (name.what == nullptr) return otherwise;
  const std::string place = name.site.empty() ? "" : " at " + to_string(name.site);
  return name.what + place;
}

void require_rank(const ProcessGroup& group, int process, const char* what) {
  if (process >= 0 && process < group.size()) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             std::string(what) + " process " + std::to_string(process) + " of " +
                                 std::to_string(group.size()),
                             "processes are numbered from 0");
}

}  // namespace detail
}  // namespace belfry
