// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace belfry::testing {

/// Hands all calls on to a group: the base of groups that count, change or refuse calls.
class ForwardingGroup : public ProcessGroup {
 public:
  explicit ForwardingGroup(ProcessGroup& group) : group_(group) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::string host_name(int process) const override { return group_.host_name(process); }
  GroupHealth health() override { return group_.health(); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return group_.gather(bytes);
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override {
    return group_.broadcast(bytes, from);
  }

 private:
  ProcessGroup& group_;
};

}  // namespace belfry::testing
