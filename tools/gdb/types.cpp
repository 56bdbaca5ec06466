// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The classes of belfry_gdb.py, which reads their objects in the memory of a program. A debugger
// loads the object file of this source for the types, since the libraries may have no debug
// information.
#include "backend/concurrent_run.h"
#include "backend/fiber_carriers.cpp"  // No header has to name the class of a fiber.
#include "backend/tracked_carriers.h"
#include "backend/turn_scheduler.h"
#include "backend/workers.h"
#include "run/rounds/replica_runner.h"

namespace belfry::detail {

namespace {

// Of this file alone, as the class of a fiber is.
struct DebuggerTypes {
  const Fiber* fiber;
  const Worker* worker;
  const FiberCarriers* fibers;
  const TurnScheduler* turns;
  const ConcurrentRun* concurrent;
  const TrackedCarriers* tracked_carriers;
  const TrackedRun* tracked_run;
  const ReplicaRunner* runner;
};
[[gnu::used]] const DebuggerTypes debugger_types{};

}  // namespace

}  // namespace belfry::detail
