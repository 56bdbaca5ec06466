// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "schedule/choice_record.h"
#include "schedule/replay.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace belfry::sim {

/// Makes the choices of `replay` again, and then asks the caller's own Chooser. Keeps the
/// answers if there is a record.
class AttachedChooser final : public Chooser {
 public:
  AttachedChooser(Chooser& own, Replay& replay, ChoiceRecord* record)
      : own_(own), replay_(replay), record_(record) {}

  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override {
    if (count == 1) return 0;
    return keep(kind, count, [&] { return own_.choose(kind, count); });
  }
  bool wants_candidates() const override { return own_.wants_candidates(); }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override {
    const auto count = static_cast<std::uint32_t>(candidates.size());
    if (count == 1) return 0;
    return keep(ChoiceKind::kAgent, count, [&] { return own_.choose_among(candidates); });
  }

 private:
  template <class Ask>
  std::uint32_t keep(ChoiceKind kind, std::uint32_t count, const Ask& ask) {
    const std::uint32_t value =
        replay_.lasts() ? replay_.next(kind, count) : std::min(ask(), count - 1);
    return record_ == nullptr ? value : record_->add(kind, count, value);
  }

  Chooser& own_;
  Replay& replay_;
  ChoiceRecord* record_;
};

}  // namespace belfry::sim
