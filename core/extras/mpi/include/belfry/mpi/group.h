// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/deadline.h"
#include "belfry/detail/prints.h"
#include "belfry/environment.h"
#include "belfry/process_group.h"
#include "belfry/process_parts.h"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belfry::mpi {

class Rounds;

/// Options of a group, the same in all processes.
struct GroupOptions {
  /// The longest silence of an awaited process.
  Deadline deadline = Deadline::seconds(60);
  /// The longest silence of a process in the destructor, if the end of some process cannot be seen
  /// (SEM-208). Else the destructor waits as long as the processes live.
  Deadline farewell_deadline = Deadline::seconds(600);
  /// The same while process 0 saves or reads a checkpoint, if this is longer than the deadline.
  Deadline file_deadline = Deadline::seconds(600);
  /// Longer values travel in messages of this many bytes, from 1 to 2^30.
  std::int64_t piece_bytes = std::int64_t{1} << 20;
  /// Tensors of a reduction with at least this many bytes are exchanged in parts (SEM-220), from 0.
  std::int64_t parts_from_bytes = std::int64_t{1} << 13;
  /// Compares the variables of launchers with the numbers of MPI (SEM-204). False is for processes
  /// without a common job, such as trainings of their own in the tasks of a Slurm step.
  bool check_launcher = true;
  /// The variables for the comparison. None: the environment of the process.
  std::optional<Environment> environment{};
};

/// An initializer that compiles, without the environment and members of their usual value:
/// `{.deadline = belfry::Deadline::seconds(5)}`.
std::string to_string(const GroupOptions& options);

/// The processes of MPI as a group (SEM-208). The group works on a duplicate of the communicator:
/// messages and error handlers of the program stay apart. Several groups, at once or in turn, are
/// independent.
///
/// Context: every call of the group, with constructors and destructor, is for MPI's main thread;
/// level MPI_THREAD_FUNNELED suffices. Errors of calls:
/// - ContextError (kGroupContext) on a different thread, or after the end of MPI;
/// - ProcessLostError (kProcessLost) after the deadline, with the silent processes; also if MPI
///   reports an error.
class Group final : public ProcessGroup, public ProcessParts {
 public:
  /// All processes of MPI. Starts MPI with the arguments of main, unless MPI is started. A group
  /// that has started MPI ends MPI with the last group, if all processes have taken leave.
  /// Order: blocks the host until all processes have called, at most the deadline once MPI is
  /// started. Throws: InvalidArgumentError (kInvalidArgument) for options outside their range, in
  /// all processes for different deadlines, and for variables of launchers with numbers that are
  /// not MPI's; PeerFailedError (kPeerFailed) if only the environments of others differ;
  /// ContextError (kGroupContext) if MPI has ended, or was started by the program below
  /// MPI_THREAD_FUNNELED.
  Group(int& argc, char**& argv, const GroupOptions& options = {},
        CallSite site = CallSite::here());
  /// The processes of a communicator of a program that has started MPI. As above; also throws
  /// ContextError (kGroupContext) before MPI is started, and InvalidArgumentError
  /// (kInvalidArgument) for MPI_COMM_NULL and for communicators between two groups.
  explicit Group(MPI_Comm communicator, const GroupOptions& options = {},
                 CallSite site = CallSite::here());
  /// Takes leave: waits for the next calls of all processes, as long as the processes live
  /// (SEM-208). After a loss a group does not wait. If a process ends without a farewell, the
  /// destructor writes a text to the error output, and does not end MPI.
  ~Group() override;

  int rank() const override;
  int size() const override;
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  std::vector<std::vector<std::byte>> gather_unless_equal(
      std::span<const std::byte> bytes) override;
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override;
  std::string host_name(int process) const override;
  GroupHealth health() override;
  std::size_t least_bytes() const override { return least_bytes_; }
  bool exchange_parts(bool is_ready, std::span<const SentPart> sent,
                      std::span<const ReceivedPart> received) override;

 private:
  void do_set_deadline(Deadline deadline) override;
  void do_wait_for_file(bool is_underway) override;
  void make(MPI_Comm communicator, const GroupOptions& options, CallSite site);

  std::unique_ptr<Rounds> rounds_;
  std::vector<std::string> hosts_;
  std::size_t least_bytes_ = 0;
};

}  // namespace belfry::mpi

namespace belfry {
namespace detail {
template <>
inline constexpr bool kPrints<mpi::GroupOptions> = true;
}  // namespace detail
namespace mpi {
using belfry::operator<<;
}  // namespace mpi
}  // namespace belfry
