// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace belfry::sim {

/// The answers of a Chooser in a run, in order. The serial schedule answers 0 to everything.
using Answers = std::vector<std::uint32_t>;

/// The number of answers that differ from the serial schedule.
std::size_t departures_in(const Answers& answers);

/// Runs a program with these answers, and returns the answers that the run has really given;
/// nothing if the outcome is not the wanted outcome.
using AnswerTrial = std::function<std::optional<Answers>(const Answers& answers)>;

/// Answers with as few departures from the serial schedule as a greedy search finds, and with the
/// wanted outcome, like `answers`. Groups of departures become 0, the last group first, and stay 0
/// if the trial succeeds; groups are half of all departures at first, then a quarter, down to
/// single departures. If 2 0 1 1 0 3 needs the last answer alone, the trials are 2 0 1 0 0 0
/// (fails), 0 0 0 1 0 3, 0 0 0 1 0 0 (fails) and 0 0 0 0 0 3. Makes at most `most_trials` trials.
Answers shrunk(Answers answers, int most_trials, const AnswerTrial& trial);

}  // namespace belfry::sim
