// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a user would write instead of merge_call, and what it cannot beat. Each `..._seconds` runs
// `rounds` rendezvous of `replicas` that add up one double each, and returns the seconds of one.

namespace belfry::testing {

/// A switch to each of `replicas` bare fibers and back: no order, no log, no exception state. In
/// seconds of the thread, as opposed to the others.
double bare_switch_seconds(int replicas, int rounds);

/// Where the threads of a baseline may run. All on one CPU is their best case on many machines: a
/// wake-up across CPUs is slow.
enum class Cpus { kAll, kOne };

/// Threads, one mutex and one condition variable; the last to arrive merges.
double condvar_seconds(int replicas, int rounds, Cpus cpus);

/// Threads and a std::barrier whose completion merges.
double barrier_seconds(int replicas, int rounds, Cpus cpus);

/// A whole run in the shape of TensorFlow's: threads made for the run and stepped one by one, two
/// events each, `rounds` merges, joined. Seconds of the run.
double event_pair_run_seconds(int replicas, int rounds, Cpus cpus);

}  // namespace belfry::testing
