// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Baselines of merge_call: the programs with threads that a user would write instead, and a bare
// switch of fibers, the lower limit of any implementation. Each `..._seconds` runs `rounds`
// rendezvous, in which each of `replicas` participants adds a double, and returns the wall time of
// a rendezvous.

namespace belfry::testing {

/// A switch to each of `replicas` bare fibers and back: no order, no log, no exception state.
/// Returns processor time of the thread, not wall time.
double bare_switch_seconds(int replicas, int rounds);

/// The CPUs that the threads of a baseline may use. A single CPU is the best case on many machines,
/// because a wake-up across CPUs is slow.
enum class Cpus { kAll, kOne };

/// Threads, a mutex and a condition variable. The last thread to arrive merges.
double condvar_seconds(int replicas, int rounds, Cpus cpus);

/// Threads and a std::barrier with the merge as its completion.
double barrier_seconds(int replicas, int rounds, Cpus cpus);

/// A whole run as TensorFlow executes it: threads are started for the run, step in turn with two
/// events each, merge `rounds` times, and are joined. Returns the wall time of the run.
double event_pair_run_seconds(int replicas, int rounds, Cpus cpus);

}  // namespace belfry::testing
