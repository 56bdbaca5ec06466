// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "processes/forwarding_group.h"

#include <cstddef>
#include <span>
#include <vector>

/// Groups with a mistake each: the contracts must notice the mistake. A wrong group makes the calls
/// of a right group, and changes the messages for the process.
namespace belfry::testing {

/// Base of wrong groups, without a mistake: hands all messages on.
class WrongGroup : public ForwardingGroup {
 public:
  explicit WrongGroup(ProcessGroup& right) : ForwardingGroup(right), right_(right) {}

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return changed(right_.gather(bytes));
  }

 protected:
  using Messages = std::vector<std::vector<std::byte>>;

  /// The messages for the process.
  virtual Messages changed(Messages messages) { return messages; }

 private:
  ProcessGroup& right_;
};

/// In gathers of lists, the last number of process 0 is also the last number of process 1.
class RepeatsTheFirst final : public WrongGroup {
 public:
  using WrongGroup::WrongGroup;

 private:
  Messages changed(Messages messages) override;
};

/// Passes over every second change of a mirrored variable. For processes without devices: messages
/// alone bring the changes of a run.
class PassesChangesOver final : public WrongGroup {
 public:
  using WrongGroup::WrongGroup;

 private:
  Messages changed(Messages messages) override;

  int changes_ = 0;
};

/// Takes messages of the same length for equal: if a fold makes nothing of the messages, folds the
/// message of process 0 in place of each.
class ComparesLengths final : public WrongGroup {
 public:
  using WrongGroup::WrongGroup;

  FoldedBytes fold(std::span<const std::byte> bytes, Fold fold) override;
};

}  // namespace belfry::testing
