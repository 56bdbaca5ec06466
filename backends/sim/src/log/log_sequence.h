// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/cluster_log.h"
#include "belfry/sim/log.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim {

/// The kept operations of a log, or of the logs of a cluster, in one order, for tables and
/// pictures. The logs outlive the sequence.
class LogSequence {
 public:
  /// A log of the sequence.
  struct Part {
    const Log* log = nullptr;
    int host = -1;          ///< The host of the backend; -1 outside of clusters.
    bool is_group = false;  ///< The operations of the hosts of a cluster, whose agents are hosts.
  };
  struct Step {
    std::uint32_t part = 0;
    std::uint32_t record = 0;
  };
  /// The begin or the end of a run, before the step `place`.
  struct Mark {
    std::uint64_t place = 0;
    std::uint32_t part = 0;
    const RunMark* run = nullptr;
  };

  explicit LogSequence(const Log& log);
  explicit LogSequence(const ClusterLog& logs);

  std::uint64_t size() const { return steps_.size(); }
  /// The number of all operations, kept or not.
  std::uint64_t total() const { return total_; }
  const std::vector<Part>& parts() const { return parts_; }
  const Step& step(std::uint64_t place) const { return steps_[place]; }
  const Part& part_of(const Step& step) const { return parts_[step.part]; }
  const LogRecord& record_of(const Step& step) const {
    return part_of(step).log->records()[step.record];
  }
  /// In order. Marks after the last step of a sequence that is not whole are left out.
  const std::vector<Mark>& marks() const { return marks_; }

 private:
  bool add(std::uint32_t part, std::uint64_t end);
  void add_marks(bool is_whole);

  std::vector<Part> parts_;
  std::vector<Step> steps_;
  std::vector<std::vector<std::uint64_t>> places_;  // Of the records of each part.
  std::vector<Mark> marks_;
  std::uint64_t total_ = 0;
};

/// The host of a part in front of a name, `H1 `; empty outside of clusters.
std::string host_prefix(int host);

}  // namespace belfry::sim
