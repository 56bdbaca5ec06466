// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/sim/observer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Sees the accesses of replicas to host memory, in code that belfry_watch(target) compiled. The
/// run time is the library belfry::watch, which has the functions that compiled accesses call; in a
/// program without the library every function here does nothing. The state belongs to the process:
/// at most one watch at a time, on the thread that called `start`. Between `start` and `stop`, the
/// owner of the watch alone calls the functions.
namespace belfry::sim::watch {

/// An access of a replica, a merge or the body of a user's kernel to host memory.
struct HostAccess {
  Actor actor;     ///< The replica or merge; of a body, the agent of the launch.
  bool write;      ///< Whether the access writes.
  const void* pc;  ///< An address inside the user's statement, for source_line; null: see `site`.
  CallSite site;   ///< The user's call of belfry, if the library made the access; else empty.
  bool of_kernel = false;  ///< Made by a body.
  bool releases = false;   ///< The end of a block of memory: `delete` or `free`.
  bool is_near = false;    ///< The compiler kept no line of the access: `pc` is in the function.
};

/// The body of a user's kernel, as a stream runs the body.
struct KernelBody {
  std::string_view name;     ///< Of the kernel; lives as long as the program.
  CallSite site;             ///< Of the launch.
  Actor launcher;            ///< The agent of the launch.
  std::uint32_t phases = 0;  ///< Phases that have begun since the launch.
  /// The captured state of the kernel; only the kernel writes it. Empty: not known.
  std::span<const belfry::detail::MemoryRange> own{};
  std::uint16_t known = 0;  ///< From `launch_of`.
};

/// The memory and the variables that belong to a kernel at its launch.
struct LaunchFacts {
  /// The block of memory with the kernel, and all blocks that were allocated later; nothing if the
  /// block was not allocated lately.
  std::vector<belfry::detail::MemoryRange> own;
  /// The number of variables made before the launch, in this phase.
  std::uint16_t known = 0;
};

/// An access of a body to memory of the program: neither to operands, nor to the kernel itself, nor
/// to memory that the body has allocated, nor a read of constants.
struct KernelAccess {
  KernelBody body;
  HostAccess access;
};

/// Two accesses of different replicas to the same bytes in one phase, at least one a write.
struct HostConflict {
  const std::byte* address;  ///< The first of the bytes.
  std::size_t bytes;         ///< The number of bytes, as far as the second access touched them.
  HostAccess first, second;  ///< In the order of the watched run.
};

/// The accesses and conflicts of a watch. Conflicts with equal pairs of source positions are
/// reported once. Conflicts with a position near an access come last.
struct HostReport {
  std::vector<HostConflict> conflicts;  ///< In the order of the second access.
  std::uint64_t accesses = 0;           ///< Accesses by replicas, without own stacks.
  bool used_atomics = false;  ///< A replica read or changed an atomic object, other than to count
                              ///< owners.
  bool used_locks = false;    ///< A replica called a function of a mutex or a condition variable.
  /// The last owner of a shared object went, and a second replica was an owner in the same phase:
  /// a different schedule would end the object in a different replica.
  bool shared_last_owner = false;
  /// Reasons why a replica's accesses may be missing: functions that no watched file defines, and
  /// sentences for all else. Sorted, each once.
  std::vector<std::string> unseen;
  /// A thread began, or a second thread ran watched code, at any time of the watch.
  bool second_thread = false;
  /// Functions with a new answer in each run that watched code has called at any time: sources of
  /// random numbers.
  std::vector<std::string> new_answers{};
  /// The clocks that watched code has asked at any time. In a watch a clock goes on by an hour with
  /// each answer: if the outcome depends on a clock, a run without a watch differs.
  std::vector<std::string> clocks{};
  /// Captured values that were not reduced: `first` is the write of the only replica that wrote
  /// the bytes since the last merge, `second` the read by the merge function. A merge that reads
  /// values of this kind from all replicas of the phase gets no entry.
  std::vector<HostConflict> single_writer_reads_in_merges;
  /// The first access of a body to memory of the program.
  std::optional<KernelAccess> kernel_access{};
};

/// An access of host code to memory that devices use, too: `access`, to `bytes` bytes.
struct SharedAccess {
  HostAccess access;
  const std::byte* address;
  std::size_t bytes;
};

/// Whether the program has the run time, and watched code.
bool linked();

/// Begins a watch, with nothing seen. Host code outside runs is current. False if the program has
/// no run time, or if a watch goes on.
bool start();
/// Compares memory around the slices of replicas, until the end of the watch: changes without a
/// seen write are among HostReport::unseen. Called after `start`.
void start_audit();
/// Makes `actor` the agent of the accesses that follow, until `leave` or the next `enter`. Called
/// on the agent's own stack; of a replica first above all frames of the replica's function, then
/// after each pause. A merge and a stream are actors too: their accesses conflict with nothing.
void enter(const Actor& actor);
/// The body of a kernel begins, until the next `enter` or `leave`. Frames of the body are below
/// `frame`. An access of the body is the stream's: the accesses of a replica without an order are
/// in conflict, the accesses of the launcher are not known to be.
void enter_body(const KernelBody& body, const void* frame);
/// A launch, by `launcher`, of the new kernel at `kernel`.
LaunchFacts launch_of(const Actor& launcher, const void* kernel);
/// The library, or code outside runs, goes on: accesses are not counted.
void leave();
/// Accesses before come before all accesses after. Called at the begin and the end of a run, and at
/// the begin and the end of a merge.
void begin_phase();
/// A merge begins, after the call of `begin_phase`. A verb, such as all_reduce, reads values that
/// replicas have passed, and no captured value.
void begin_merge(bool is_verb);
/// The current replica has made variable `number` for the replicas of its run. Its accesses before
/// come before all accesses of a replica after `take_variable(number)`, in the same phase.
void make_variable(std::uint32_t number);
/// The current replica uses the variable from now on.
void take_variable(std::uint32_t number);
/// Devices use the memory, too, from now on: accesses by replicas, merges and code outside runs are
/// kept for `take_shared`, and calls of functions that no watched file defines are noted outside of
/// replicas, too. `actor` is the caller. Returns whether the accesses are seen.
bool share(const std::byte* memory, std::size_t bytes, const Actor& actor);
/// The accesses to shared memory since the last call, by agent in order. Accesses of a statement to
/// bytes beside each other are one.
std::vector<SharedAccess> take_shared();
/// Ends the watch.
HostReport stop();

/// The file and line of the code at `pc`; empty if the program has no line tables. The address may
/// be HostAccess::pc, and belongs to a statement of the user: where headers of the system or of
/// belfry made the access, the caller of the header counts. Names of files live as long as the
/// program. May be called at any time, and on any thread.
CallSite source_site(const void* pc);

/// The same as text, `train.cpp:5`.
std::string source_line(const void* pc);

/// The position of an access: its site, or the line of its address; `near train.cpp:5` if the
/// compiler kept no line.
std::string source_line(const HostAccess& access);

}  // namespace belfry::sim::watch
