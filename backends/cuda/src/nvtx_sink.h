// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace belfry::cuda {

/// Shows the steps of replicas to profilers, and hands every operation on. A replica has a range
/// for its body, and inside one for each merge, from its arrival on; the merge has a range from its
/// begin until the first replica goes on. A write to a variable is a mark.
class NvtxSink final : public OperationSink {
 public:
  /// `next` may be null.
  explicit NvtxSink(OperationSink* next) : next_(next) {}
  void on_operation(const Operation& operation) override;

  /// The verb and the name of the innermost merge that runs; empty outside of merges.
  std::string merge();

 private:
  struct Range {
    std::uint64_t number = 0;
    bool is_body = false;
  };
  struct Merge {
    std::uint64_t number = 0;
    std::uint64_t run = 0;
    std::uint64_t round = 0;
    std::string name{};
  };

  void show(const Operation& operation);
  void end_body(AgentId replica);
  void end_merge(const Operation& operation);

  std::mutex mutex_;
  std::map<AgentId, std::vector<Range>> open_;  // of each replica; runs nest
  std::vector<Merge> merges_;                   // the innermost last
  OperationSink* next_;
};

}  // namespace belfry::cuda
