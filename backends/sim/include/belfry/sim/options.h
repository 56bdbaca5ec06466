// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim {

/// How replicas run. With kFiber and kBaton one user thread at a time uses a backend.
enum class Carrier : std::uint8_t {
  kFiber,       ///< Fibers on the calling thread.
  kBaton,       ///< A thread for each replica, one at a time, in the same order as fibers: slower,
                ///< for debuggers.
  kConcurrent,  ///< A thread for each replica, all at once, for ThreadSanitizer: no schedule, no
                ///< replay token, and another log in each run.
};

/// `fiber`, `baton`, `concurrent`.
std::string to_string(Carrier carrier);

/// How much of the data enters the log, as digests. Two runs with equal logs had equal data, as far
/// as the data is digested (SEM-77).
enum class Digests : std::uint8_t {
  kNone,     ///< Operations alone, no data: the fastest.
  kSampled,  ///< Some bytes of each large result: finds most differences at little cost. A
             ///< difference outside the sample stays unseen.
  kAll,      ///< All data on devices, values of replicas and variables on the host, and the lines
             ///< of merges. Costs one more read of each byte that is written.
};

/// `none`, `sampled`, `all`.
std::string to_string(Digests digests);

/// All inputs of a simulated run besides the program: equal options and programs give equal runs.
///
///     sim::Backend backend{{.devices = 4, .seed = 7}};
///
struct Options {
  int devices = 1;  ///< The number of devices, up to 2^26; made at first use, so many cost nothing.
  /// The order of replicas and streams. Schedule::random(), the default, draws a new order for each
  /// `seed`; Schedule::fixed() is the same for every seed, and hides mistakes that other orders
  /// show; Schedule::replay(token) repeats a run.
  Schedule schedule{};
  Carrier carrier = Carrier::kFiber;  ///< How replicas run.
  /// The memory of each device, in bytes; 0 is no limit. Allocations beyond are a DeviceError
  /// (kOutOfMemory), as on a GPU of this size.
  std::size_t memory_limit_bytes = 0;
  /// Whether buffers with copies of the same bytes share host memory until a buffer is written: N
  /// replicas need the memory of one. Off, each buffer has memory of its own, for tests that check
  /// whether copies are equal. Results, logs and `memory_limit_bytes` are the same.
  bool share_copies = true;
  /// Whether the log, its hash and the choices are kept. Off, a run is faster and needs no memory
  /// for its history, but has no replay token, and errors cannot name one.
  bool record = true;
  Digests digests = Digests::kSampled;  ///< How much of the data enters the log.
  /// How many operations, and how many choices of the schedule, are kept from the start of the
  /// backend; 65,536 of each. A longer run goes on, and its hash covers everything, but the run
  /// has no replay token and no certificate: raise the limit for long runs. Each
  /// operation takes 32 bytes and most choices 2, as the run fills the limit.
  std::size_t record_limit = std::size_t{1} << 16;
  /// The stack of a replica, in bytes, from 32 KiB to 1 GiB. Memory is taken as a replica uses the
  /// stack. A replica that needs more ends the run with a DeviceError (kStackOverflow); more costs
  /// address space, and time at the start of many replicas.
  std::size_t stack_bytes = std::size_t{512} << 10;
  std::uint64_t seed = 0;  ///< Decides a random schedule; without effect on all others.
  /// The replica whose merge function is called, from 0 to devices - 1. Every replica passes a
  /// function to `merge_call`, and a single function runs. Usually all functions do the same, and
  /// the number changes nothing. A function that captures a gradient of a replica, in place of an
  /// argument, computes something else on each replica: run the test once with 0
  /// and once with 1, and compare the results to find this mistake (SEM-135).
  int functions_of = 0;
  /// The most steps of the replicas of a run: arrivals at merges, and accesses to variables. A run
  /// with more fails with a MergeMismatchError (kDeadline), which has the place of each replica.
  /// For loops that wait for a value that nobody changes. 0: no bound. With kConcurrent, merges
  /// alone notice the bound.
  std::uint64_t max_steps = 0;
  /// `links[i]` lists the devices with a direct, fast link to device i (SEM-146).
  /// Empty: unknown. Links decide the choice of the algorithm that reduces tensors, and no time:
  /// nothing is faster over a simulated link.
  std::vector<std::vector<int>> links{};
  /// Whether each kernel of the user is checked against its launch: its body runs several times, on
  /// copies of its operands between guards. A read or write beside the operands, a write to an
  /// operand of `reads`, or an element of `writes` that is never written is an error of the next
  /// host wait (SEM-174). Results and log stay the same. A launch takes several times as long, and
  /// other effects of a body, such as a count or a print, happen several times. For tests.
  bool check_kernels = false;
  /// Whether `explore` compares all memory of the program before and after each step of a replica,
  /// and names writes that the marks of the compiler have missed: a second check of a CERTIFIED
  /// verdict. The exploration takes many times as long.
  bool audit_watch = false;

  bool operator==(const Options&) const = default;
};

/// An initializer that compiles after `belfry::sim::Options options`, without members of their
/// default value except `devices`: `{.devices = 2, .carrier = belfry::sim::Carrier::kBaton}`.
std::string to_string(const Options& options);

using belfry::operator<<;

}  // namespace belfry::sim
