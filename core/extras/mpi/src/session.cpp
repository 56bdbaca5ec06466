// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "session.h"

#include "belfry/error.h"

#include <pthread.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::mpi {
namespace {

struct Session {
  bool started = false;  // By start_mpi.
  int groups = 0;
  bool all_took_leave = true;
  std::thread::id main_thread;  // MPI's, once a call has passed all checks.
  std::vector<std::shared_ptr<void>> kept;
  std::vector<int> sockets;  // Not for children.
};

// Never destroyed: MPI may use the contents while the process ends.
Session& session() {
  static Session* const only = new Session;
  return *only;
}

bool answer(int (*question)(int*)) noexcept {
  int yes = 0;
  return question(&yes) == MPI_SUCCESS && yes != 0;
}

[[noreturn]] void refuse(const char* summary, const char* hint, CallSite site) {
  throw ContextError(ErrorCode::kGroupContext, summary, hint, site);
}

int level() {
  int level = MPI_THREAD_SINGLE;
  return MPI_Query_thread(&level) == MPI_SUCCESS ? level : MPI_THREAD_SINGLE;
}

// In a child, after fork.
void close_sockets() {
  for (const int socket : session().sockets) close(socket);
  session().sockets.clear();
}

}  // namespace

void require_mpi(CallSite site) {
  // MPI's level and main thread never change: usually only the end of MPI is looked for.
  const std::thread::id here = std::this_thread::get_id();
  if (session().main_thread == here && !answer(MPI_Finalized)) return;
  if (answer(MPI_Finalized)) {
    refuse("a group of MPI's processes after the end of MPI",
           "MPI cannot be started twice: make the group before MPI_Finalize, and keep a group to "
           "the end if groups have started MPI",
           site);
  }
  if (!answer(MPI_Initialized)) {
    refuse("a group over a communicator before the start of MPI",
           "write mpi::Group group{argc, argv}, which starts MPI", site);
  }
  if (level() < MPI_THREAD_FUNNELED) {
    refuse("a group where MPI was started below MPI_THREAD_FUNNELED",
           "write MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) in place of MPI_Init",
           site);
  }
  if (!answer(MPI_Is_thread_main)) {
    refuse("a call of a group on another thread than MPI's main thread",
           "call the group, and strategies over the group, on the thread that started MPI", site);
  }
  session().main_thread = here;
}

void start_mpi(int& argc, char**& argv, CallSite site) {
  if (!answer(MPI_Initialized)) {
    int level = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
      refuse("MPI_Init_thread failed", "read the output of mpirun", site);
    }
    session().started = true;
  }
  require_mpi(site);
}

bool is_mpi_usable() noexcept {
  return answer(MPI_Initialized) && !answer(MPI_Finalized) && answer(MPI_Is_thread_main);
}

void begin_group() { ++session().groups; }

void end_group(bool all_took_leave) noexcept {
  Session& all = session();
  all.all_took_leave = all.all_took_leave && all_took_leave;
  if (--all.groups > 0 || !all.started || !all.all_took_leave || !is_mpi_usable()) return;
  MPI_Finalize();
}

void keep(std::shared_ptr<void> object) { session().kept.push_back(std::move(object)); }

void keep_from_children(int socket) {
  [[maybe_unused]] static const int status = pthread_atfork(nullptr, nullptr, close_sockets);
  session().sockets.push_back(socket);
}

bool forget_socket(int socket) noexcept { return std::erase(session().sockets, socket) > 0; }

}  // namespace belfry::mpi
