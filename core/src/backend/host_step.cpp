// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/host_step.h"

#include "backend/turns.h"

namespace belfry::detail {

void host_step(const ExecutorParts& parts, const Operation& operation) {
  Turns turns;
  turns.begin(0, parts.chooser, parts.agents);
  for (Turn turn = turns.preempt_caller(); turn.kind == Turn::Kind::kAgent;
       turn = turns.preempt_caller()) {
    parts.agents->run(turn.index);
  }
  if (parts.sink != nullptr) parts.sink->on_operation(operation);
}

}  // namespace belfry::detail
