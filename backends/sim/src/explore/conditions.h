// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/options.h"
#include "belfry/sim/verdict.h"
#include "explore/body_run.h"
#include "explore/breach.h"

#include <vector>

namespace belfry::sim {

/// The races of `run` on devices and in host memory.
std::vector<Race> races_of(const BodyRun& run);

/// The conditions of a certificate, as `run` meets them. `run` is the judged run of a body that
/// repeats.
std::vector<Condition> conditions_of(const BodyRun& run, const Options& options);

/// Replaces the evidence for a body that repeats by the schedules with equal logs. `log` is of the
/// judged run.
void confirm_by_schedules(std::vector<Condition>& conditions, const Log& log);

/// Marks the condition about host bytes as not met: schedules differ although the run met all
/// conditions.
void take_back_host_bytes(std::vector<Condition>& conditions);

/// The ways in which `run` breaks the conditions, each once, in order. Without a breach all
/// conditions hold.
std::vector<Breach> breaches_of(const BodyRun& run, const Options& options);

/// Remarks about `run`: captured values that were not reduced, and lines with several merges
/// without names.
std::vector<std::string> notes_of(const BodyRun& run);

}  // namespace belfry::sim
