// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/workers.h"

#include <vector>

namespace belfry::detail {

/// Carries each replica on a thread of its own. A switch wakes the next thread and puts the calling
/// thread to sleep.
class ThreadCarriers final : public Carriers {
 public:
  /// `workers` outlive the object.
  explicit ThreadCarriers(Workers& workers);

  TurnCarrier& begin(int replicas, bool serial) override;
  void end() override {}
  TurnCarrier& start(int replica, void (*main)(TurnCarrier&)) override;
  /// Cold: a compiler that knows no different kind would otherwise guess this one at each switch.
  [[gnu::cold]] void switch_to(TurnCarrier& from, TurnCarrier& to) override;
  void leave(TurnCarrier& from, TurnCarrier& to) override;
  [[noreturn]] void abandon(TurnCarrier& from, TurnCarrier& to) override;
  const Stack* stack_of(const TurnCarrier&) const override { return nullptr; }

 private:
  Workers* pool_;
  std::vector<Worker*> taken_;
  Worker caller_;
};

}  // namespace belfry::detail
