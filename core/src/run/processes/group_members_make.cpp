// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The first exchange of a strategy: the numbers of replicas, and the options.
#include "belfry/error.h"
#include "run/processes/group_members.h"

#include <cstddef>
#include <optional>
#include <utility>

namespace belfry::detail {

GroupMembers::GroupMembers(ProcessGroup& group, int replicas, const std::string& options,
                           CallSite site)
    : RoundMembers(ProcessTable{{0}, group.rank()}),
      group_(group),
      parts_(dynamic_cast<ProcessParts*>(&group)),
      number_(group.next_strategy(site)) {
  ProcessTable members = table();
  const auto add = [&members](ByteReader& in) {
    members.first.push_back(members.first.back() + in.get<int>());
  };
  ByteWriter out;
  out.put(replicas);
  out.text(options);
  const FoldedBytes made = make(out.bytes(), site);
  if (made.result != nullptr) {
    ByteReader in(*made.result);
    while (!in.rest().empty()) add(in);
  }
  for (std::size_t process = 0; process < made.all.size(); ++process) {
    ByteReader in(made.all[process]);
    add(in);
    const std::string others = in.text();
    if (others == options) continue;
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "the strategy has options (" + options + ") in process " +
                                   std::to_string(rank()) + ", and (" + others + ") in process " +
                                   std::to_string(process),
                               "give all processes the same options, apart from devices", site);
  }
  set_table(std::move(members));
}

// The numbers of replicas of all processes, if the options are equal; else all messages. A process
// with a strategy of one process leaves, or works for longer than the deadline.
FoldedBytes GroupMembers::make(const Bytes& own, CallSite site) {
  const auto numbers =
      [](std::span<const std::span<const std::byte>> payloads) -> std::optional<Bytes> {
    ByteWriter out;
    for (const std::span<const std::byte> payload : payloads) {
      const auto options = payload.subspan(sizeof(int));
      if (!same_bytes(options, payloads.front().subspan(sizeof(int)))) return std::nullopt;
      out.add(payload.data(), sizeof(int));
    }
    return out.bytes();
  };
  const ProcessGroup::Fold fold(numbers);
  try {
    group_.name_call("a strategy", site);
    const auto head = [&]() -> ProcessMessage {
      return {ProcessMessage::Kind::kMake, number_, "a strategy", site.file, site.line};
    };
    ByteWriter message;
    write_head(message, head());
    const std::size_t begin = message.bytes().size();
    message.add(own.data(), own.size());
    return fold_payloads(head, message.bytes(), begin, &fold, nullptr);
  } catch (const ProcessLostError& error) {
    ErrorReport report = error.report();
    report.site = site;
    report.hint =
        "make a MultiWorkerMirroredStrategy with the group in every process: a strategy of one "
        "process, such as MirroredStrategy, takes no part; " +
        report.hint;
    throw ProcessLostError(std::move(report));
  }
}

}  // namespace belfry::detail
