// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "log/unnamed_merges.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace belfry::sim {
namespace {

using Lines = std::vector<UnnamedMerges>;

// The lines of a run, and of the runs around the run.
class Sweep {
 public:
  explicit Sweep(const Log& log) : log_(log) {}

  Lines lines() {
    const std::vector<LogRecord>& records = log_.records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      pass_marks(i);
      if (records[i].kind == OperationKind::kMerge) add(i);
    }
    for (Lines& run : open_) keep(run);
    std::erase_if(lines_, [](const UnnamedMerges& line) { return line.count < 2; });
    return std::move(lines_);
  }

 private:
  void pass_marks(std::uint64_t record) {
    const std::vector<RunMark>& marks = log_.annotations().runs();
    for (; marks_ < marks.size() && marks[marks_].record <= record; ++marks_) {
      if (marks[marks_].begins) {
        open_.emplace_back();
      } else if (!open_.empty()) {
        keep(open_.back());
        open_.pop_back();
      }
    }
  }

  void add(std::uint64_t record) {
    const Annotation* const known = log_.annotations().find(record);
    if (known == nullptr || known->site.empty()) return;
    // The verb of a merge with a name is `all_reduce "weight"`.
    if (log_.annotations().name(known->name).ends_with('"')) return;
    if (open_.empty()) open_.emplace_back();
    ++line_of(open_.back(), known->site).count;
    (void)line_of(lines_, known->site);
  }

  void keep(const Lines& run) {
    for (const UnnamedMerges& line : run) {
      int& most = line_of(lines_, line.site).count;
      most = std::max(most, line.count);
    }
  }

  static UnnamedMerges& line_of(Lines& lines, const CallSite& site) {
    const auto found = std::ranges::find_if(
        lines, [&](const UnnamedMerges& line) { return same_place(line.site, site); });
    if (found != lines.end()) return *found;
    lines.push_back({site});
    return lines.back();
  }

  const Log& log_;
  std::size_t marks_ = 0;
  std::vector<Lines> open_;  // Of the runs that go on, the innermost last.
  Lines lines_;
};

}  // namespace

std::string to_string(const UnnamedMerges& merges) {
  return std::to_string(merges.count) + " merges at " + to_string(merges.site) +
         " have no names: their order is not compared";
}

std::vector<UnnamedMerges> unnamed_merges(const Log& log) { return Sweep(log).lines(); }

}  // namespace belfry::sim
