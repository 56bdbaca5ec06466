// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/chooser.h"
#include "belfry/flight_recorder.h"
#include "belfry/sim/observer.h"
#include "belfry/trace.h"

namespace belfry::sim {

/// Objects of the caller that take part in the runs of a backend. They outlive the backend; any may
/// be null. Calls name the type, `sim::Backend{options, sim::Attachments{.observer = &mine}}`:
/// clang takes a bare list in braces for a call site, too, and calls the constructor ambiguous.
struct Attachments {
  /// Makes the choices in place of `Options::schedule`. If the schedule is a replayed one, its
  /// choices come first, and the Chooser makes those after them (SEM-71). The Chooser is asked only
  /// where there are two or more answers; an answer that is too large counts as the largest.
  Chooser* chooser = nullptr;
  Observer* observer = nullptr;  ///< Sees the runs of the backend.
  TraceFile* trace = nullptr;    ///< Gets the steps of the runs of the backend.
  /// Keeps the last merges of the runs of the backend.
  FlightRecorder* recorder = nullptr;
  /// For clusters: the host of the backend in the trace; -1: no host of a cluster.
  int host = -1;
  /// Tells the schedule in errors, in place of the choices of the backend alone.
  const ScheduleSource* schedules = nullptr;
};

}  // namespace belfry::sim
