// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/process_parts.h"
#include "belfry/call_site.h"
#include "belfry/cluster_environment.h"
#include "belfry/detail/prints.h"
#include "belfry/process_group.h"

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
  /// How long a call waits for a process without a sign of life. Shorter: a lost process is noticed
  /// sooner. Longer: a process may work longer between two calls of the group, such as in a user's
  /// kernel or a slow file system, before the others give it up.
  Deadline deadline = Deadline::seconds(60);
  /// How long the destructor waits for the farewell of a process without a sign of life, where the
  /// end of a process cannot be seen, for example behind a firewall (SEM-208). Else the destructor
  /// waits as long as the processes live.
  Deadline farewell_deadline = Deadline::seconds(600);
  /// The limit in place of `deadline` while process 0 saves or reads a checkpoint, if longer: a
  /// file of 100 GB at 200 MB/s takes 500 s.
  Deadline file_deadline = Deadline::seconds(600);
  /// The size of a message, in bytes, from 1 to 2^30: longer values travel in several messages.
  /// Smaller pieces show life more often on a slow network; larger pieces have less overhead.
  std::int64_t piece_bytes = std::int64_t{1} << 20;
  /// From this many bytes on, 0 or more, a reduction of tensors sends each process its range of the
  /// elements, and gets the combined ranges back, in place of whole tensors for all: less traffic
  /// and memory, and one more exchange (SEM-220).
  std::int64_t parts_from_bytes = std::int64_t{1} << 13;
  /// Whether the variables of launchers are compared with the numbers of MPI, so that a foreign
  /// launcher is an error and not N trainings that write one checkpoint (SEM-204). False is for
  /// processes without a common job, such as trainings of their own in the tasks of a Slurm step.
  bool check_launcher = true;
  /// The variables for the comparison. None: the environment of the process.
  std::optional<Environment> environment{};
};

/// An initializer that compiles, without the environment and members of their usual value:
/// `{.deadline = belfry::Deadline::seconds(5)}`.
std::string to_string(const GroupOptions& options);

/// Joins the processes of MPI to a group (SEM-208).
///
///     int main(int argc, char** argv) {
///       mpi::Group group{argc, argv};                      // Starts MPI; ends MPI at the end.
///       sim::Backend backend{{.devices = 2}};
///       MultiWorkerMirroredStrategy strategy{backend, group};
///     }
///
/// The group works on a duplicate of the communicator: messages and error handlers of the program
/// stay apart. Several groups, at once or in turn, are independent.
///
/// Every call of the group, with constructors and destructor, is for MPI's main thread; level
/// MPI_THREAD_FUNNELED suffices. Errors of calls:
/// - ContextError (kGroupContext) on a different thread, or after the end of MPI;
/// - ProcessLostError (kProcessLost) after the deadline, with the silent processes; also if MPI
///   reports an error.
class Group final : public ProcessGroup, public ProcessParts {
 public:
  /// Joins all processes of MPI. Starts MPI with the arguments of main, unless MPI is started; then
  /// MPI ends with the last group, if all processes have taken leave.
  /// Order: blocks the host until all processes have called, at most the deadline once MPI is
  /// started.
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): options out of range; deadlines that differ, in all
  ///   processes; variables of launchers with numbers that are not MPI's;
  /// - PeerFailedError (kPeerFailed): the environments of others alone differ;
  /// - ContextError (kGroupContext): MPI has ended, or the program has started MPI below
  ///   MPI_THREAD_FUNNELED.
  Group(int& argc, char**& argv, const GroupOptions& options = {},
        CallSite site = CallSite::here());
  /// Joins the processes of a communicator, in a program that has started MPI.
  /// Order: as above.
  /// Throws, beside the errors above:
  /// - ContextError (kGroupContext): MPI is not started;
  /// - InvalidArgumentError (kInvalidArgument): MPI_COMM_NULL, or a communicator between two
  ///   groups.
  explicit Group(MPI_Comm communicator, const GroupOptions& options = {},
                 CallSite site = CallSite::here());
  /// Takes leave: waits for the next calls of all processes, as long as the processes live
  /// (SEM-208). After a loss a group does not wait. If a process ends without a farewell, the
  /// destructor writes a text to the error output, and does not end MPI.
  ~Group() override;

  int rank() const override;
  int size() const override;
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  FoldedBytes fold(std::span<const std::byte> bytes, Fold fold) override;
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

using belfry::operator<<;

}  // namespace belfry::mpi
