// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "schedule/choice_record.h"

#include <cstdint>
#include <utility>

namespace belfry::sim {

/// Chooses as `Policy` does, and keeps the answers.
template <class Policy>
class RecordingChooser final : public Chooser {
 public:
  RecordingChooser(ChoiceRecord& record, Policy policy)
      : record_(record), policy_(std::move(policy)) {}

  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override {
    if (count == 1) return 0;
    return record_.add(kind, count, policy_.choose(kind, count));
  }

 private:
  ChoiceRecord& record_;
  Policy policy_;
};

}  // namespace belfry::sim
