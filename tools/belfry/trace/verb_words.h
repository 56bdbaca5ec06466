// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/step_words.h"
#include "trace/trace_step.h"

#include <string>
#include <vector>

namespace belfry::tool {

/// The rule of the verb or of the operator of a merge or collective; no number for other names.
StepRule rule_of_verb(const TraceStep& step);

/// What a replica brings to an exchange, as a trace shows it.
struct ExchangeWords {
  std::string asked{};               ///< `max, axis 0`, `root 1`; empty: nothing beside the value.
  std::vector<TraceValue> values{};  ///< The values of the replica.
};

/// The words of an arrival; of any other merge `asked` is empty and `values` are all.
ExchangeWords exchange_words(const TraceStep& arrival);

}  // namespace belfry::tool
