// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "log/unnamed_merges.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

namespace belfry::sim {
namespace {

using Lines = std::vector<UnnamedMerges>;

UnnamedMerges& line_of(Lines& lines, const CallSite& site) {
  const auto found = std::ranges::find_if(
      lines, [&](const UnnamedMerges& line) { return same_place(line.site, site); });
  if (found != lines.end()) return *found;
  lines.push_back({site});
  return lines.back();
}

// The merges of a run so far.
struct Run {
  std::uint64_t latest = 0;  // The number of the latest merge, from 1.
  Lines lines{};
};

}  // namespace

std::string to_string(const UnnamedMerges& merges) {
  return std::to_string(merges.count) + " merges at " + to_string(merges.site) +
         " have no names: their order is not compared";
}

std::vector<UnnamedMerges> unnamed_merges(const Log& log) {
  Lines lines;
  // By nesting, and by the number that the strategy of the run has given the run.
  std::map<std::pair<std::int32_t, std::uint64_t>, Run> runs;
  for (std::size_t i = 0; i < log.records().size(); ++i) {
    const LogRecord& merge = log.records()[i];
    if (merge.kind != OperationKind::kMerge) continue;
    Run& run = runs[{merge.agent_index, merge.value}];
    if (merge.subject <= run.latest) run.lines.clear();  // A run of another strategy.
    run.latest = merge.subject;
    const Annotation* const known = log.annotations().find(i);
    if (known == nullptr || known->site.empty()) continue;
    // The verb of a merge with a name is `all_reduce "weight"`. A line of several groups has
    // several merges `all_reduce of group {0, 1}`, each with other replicas.
    const std::string_view verb = log.annotations().name(known->name);
    if (verb.ends_with('"') || verb.ends_with('}')) continue;
    int& most = line_of(lines, known->site).count;
    most = std::max(most, ++line_of(run.lines, known->site).count);
  }
  std::erase_if(lines, [](const UnnamedMerges& line) { return line.count < 2; });
  return lines;
}

}  // namespace belfry::sim
