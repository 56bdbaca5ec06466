// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "communicator.h"

#include "belfry/error.h"
#include "checked.h"
#include "polling.h"
#include "session.h"

#include <memory>
#include <utility>

namespace belfry::mpi {
namespace {

[[noreturn]] void throw_not_made(Deadline deadline, CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kProcessLost;
  report.summary = "not all processes have made the group within " +
                   belfry::detail::words_of(deadline) + "; MPI does not tell which are missing";
  report.site = site;
  report.expected = "every process of the communicator makes the group";
  report.hint = "read the output of mpirun: a process may have ended, or waits elsewhere";
  throw ProcessLostError(std::move(report));
}

void require_intracommunicator(MPI_Comm communicator, CallSite site) {
  int is_inter = 0;
  if (communicator != MPI_COMM_NULL) {
    checked(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter");
    if (is_inter == 0) return;
  }
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             is_inter != 0 ? "a group over a communicator between two groups"
                                           : "a group over MPI_COMM_NULL",
                             "give the group MPI_COMM_WORLD, or a communicator made from it", site);
}

}  // namespace

MPI_Comm duplicate(MPI_Comm communicator, Deadline deadline, CallSite site) {
  require_intracommunicator(communicator, site);
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Comm_idup(communicator, made.get(), &request), "MPI_Comm_idup");
  WaitedTime waited;
  Polling polling;
  while (true) {
    const std::int64_t waited_ms = waited.read(deadline);  // Before messages are read.
    int done = 0;
    checked(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) break;
    if (waited_ms > deadline.as_milliseconds()) {
      keep(std::move(made));  // MPI writes there if the others come later.
      throw_not_made(deadline, site);
    }
    polling.pause();
  }
  checked(MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return *made;
}

}  // namespace belfry::mpi
