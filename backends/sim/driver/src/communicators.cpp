// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "communicators.h"

#include "belfry/error.h"

#include <nccl.h>

#include <cstddef>

using belfry::driver::await_ranks;
using belfry::driver::Call;
using belfry::driver::CommunicatorObject;
using belfry::driver::guarded_nccl;
using belfry::driver::JoinCall;
using belfry::driver::misuse;
using belfry::driver::no_communicator;
using belfry::driver::refused;
using belfry::driver::Thread;

namespace belfry::driver {

ncclResult_t no_communicator(const Call& call) {
  return misuse(call, ncclInvalidArgument, "no communicator has this handle: destroyed?");
}

ncclResult_t refused(const Call& call, ncclResult_t code) {
  if (call.thread.group_depth > 0) call.thread.group_error = code;
  return code;
}

ncclResult_t await_ranks(const Call& call, ncclComm_t comm) {
  const auto object = call.machine.cliques.look_up(comm);
  if (object == nullptr) return no_communicator(call);
  std::string reason = "the communicator failed while its ranks joined";
  try {
    call.machine.cliques.await_ranks(*object);
    if (call.machine.cliques.failure_of(*object) == ncclSuccess) return ncclSuccess;
  } catch (const DeviceError&) {
    reason = "rank " + std::to_string(object->rank) + " waits for ranks that no thread makes";
  }
  call.machine.cliques.destroy(comm);
  return misuse(call, ncclInvalidUsage, reason);
}

}  // namespace belfry::driver

namespace {

// To end a null communicator does nothing.
ncclResult_t nothing_to_end(const Call& call, ncclComm_t comm) {
  return comm == nullptr ? ncclSuccess : no_communicator(call);
}

// Whether a configuration asks for a blocking communicator, the default. Versions of NCCL append to
// ncclConfig_t: the size may differ.
ncclResult_t check_config(const Call& call, const ncclConfig_t* config, bool& blocking) {
  const ncclConfig_t model = NCCL_CONFIG_INITIALIZER;
  blocking = true;
  if (config == nullptr) return ncclSuccess;
  if (config->size < offsetof(ncclConfig_t, cgaClusterSize) || config->magic != model.magic) {
    return misuse(call, ncclInvalidArgument, "a configuration not made from the initializer");
  }
  if (config->blocking != 0 && config->blocking != 1 && config->blocking != NCCL_CONFIG_UNDEF_INT) {
    return misuse(call, ncclInvalidArgument, "`blocking` of a configuration is 0 or 1");
  }
  blocking = config->blocking != 0;
  return ncclSuccess;
}

// Fails the call of a rank that joins. A member that does not block learns of the failure by its
// next question.
ncclResult_t fail_to_join(const Call& call, ncclComm_t* comm, bool blocking,
                          const std::string& complaint) {
  const ncclResult_t told = misuse(call, ncclInvalidUsage, complaint);
  if (*comm != nullptr && !blocking) return ncclInProgress;
  call.machine.cliques.destroy(*comm);
  *comm = nullptr;
  return refused(call, told);
}

// Makes the communicator of a rank, and waits for no other rank.
ncclResult_t join(const Call& call, ncclComm_t* comm, const JoinCall& rank) {
  if (rank.ranks < 1 || rank.rank < 0 || rank.rank >= rank.ranks) {
    return refused(
        call, misuse(call, ncclInvalidArgument,
                     "rank " + std::to_string(rank.rank) + " of " + std::to_string(rank.ranks)));
  }
  if (!call.thread.group.empty()) {
    return refused(call,
                   misuse(call, ncclInvalidUsage, "communicators and collectives in one group"));
  }
  if (call.thread.group_depth > 0) call.thread.group_asks |= !rank.blocking;
  const auto complaint = call.machine.cliques.join(rank, call.thread, comm);
  if (complaint) return fail_to_join(call, comm, rank.blocking, *complaint);
  return rank.blocking ? ncclSuccess : ncclInProgress;
}

// Makes the communicator of a rank. A blocking call waits for the other ranks, in a group at its
// end.
ncclResult_t init(const Call& call, ncclComm_t* comm, const JoinCall& rank) {
  const ncclResult_t made = join(call, comm, rank);
  if (made != ncclSuccess) return made;
  if (call.thread.group_depth > 0) {
    call.thread.joining.push_back(*comm);
    return ncclSuccess;
  }
  const ncclResult_t joined = await_ranks(call, *comm);
  if (joined != ncclSuccess) *comm = nullptr;
  return joined;
}

// The answer of a question about a communicator.
template <class Read>
ncclResult_t answer(const char* function, ncclComm_t comm, int* value, Read&& read) {
  return guarded_nccl<Thread::kAsks>(function, [&](const Call& call) {
    const auto object = call.machine.cliques.look_up(comm);
    if (object == nullptr) return no_communicator(call);
    *value = read(*object);
    return ncclSuccess;
  });
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return guarded_nccl<Thread::kAsks>(__func__, [&](const Call& call) {
    *uniqueId = call.machine.cliques.make_id();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  return guarded_nccl(__func__, [&](const Call& call) {
    bool blocking = true;
    const ncclResult_t checked = check_config(call, config, blocking);
    if (checked != ncclSuccess) return refused(call, checked);
    return init(call, comm, {commId, nranks, rank, blocking});
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return guarded_nccl(
      __func__, [&](const Call& call) { return init(call, comm, {commId, nranks, rank, true}); });
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return guarded_nccl(__func__, [&](const Call& call) {
    for (int rank = 0; rank < ndev; ++rank) {
      const int gpu = devlist == nullptr ? rank : devlist[rank];
      if (call.machine.has_gpu(gpu)) continue;
      return refused(call,
                     misuse(call, ncclInvalidArgument, "there is no GPU " + std::to_string(gpu)));
    }
    const ncclUniqueId id = call.machine.cliques.make_id();
    const int current = call.thread.gpu;
    ncclResult_t result = ndev < 1 ? ncclInvalidArgument : ncclSuccess;
    for (int rank = 0; rank < ndev && result == ncclSuccess; ++rank) {
      call.thread.gpu = devlist == nullptr ? rank : devlist[rank];
      result = join(call, &comm[rank], {id, ndev, rank, true});
    }
    call.thread.gpu = current;
    return result;
  });
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  return answer(__func__, comm, count,
                [](const CommunicatorObject& object) { return object.clique->size(); });
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return answer(__func__, comm, device,
                [](const CommunicatorObject& object) { return object.gpu; });
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return answer(__func__, comm, rank, [](const CommunicatorObject& object) { return object.rank; });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return guarded_nccl(__func__, [&](const Call& call) {
    const auto object = call.machine.cliques.find(comm, call.thread);
    if (object == nullptr) return nothing_to_end(call, comm);
    const ncclResult_t failure = call.machine.cliques.failure_of(*object);
    if (failure != ncclSuccess) return failure;
    if (call.machine.cliques.finalized(*object)) {
      call.machine.cliques.fail(*object, ncclInvalidArgument);
      return misuse(call, ncclInvalidArgument, "the communicator is finalized already");
    }
    const int polls = object->blocking ? 0 : call.machine.options().polls;
    call.machine.cliques.finalize(*object, polls);
    if (call.thread.group_depth > 0) call.thread.group_asks |= !object->blocking;
    return object->blocking ? ncclSuccess : ncclInProgress;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return guarded_nccl(__func__, [&](const Call& call) {
    const auto object = call.machine.cliques.find(comm, call.thread);
    if (object == nullptr) return nothing_to_end(call, comm);
    const ncclResult_t failure = call.machine.cliques.failure_of(*object);
    if (failure != ncclSuccess) return failure;  // Only to be aborted.
    if (call.machine.cliques.busy(*object)) {
      return misuse(call, ncclInvalidUsage, "destroyed while its last call is in progress");
    }
    call.machine.cliques.destroy(comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return guarded_nccl(__func__, [&](const Call& call) {
    const auto object = call.machine.cliques.find(comm, call.thread);
    if (object == nullptr) return nothing_to_end(call, comm);
    call.machine.cliques.abort(*object);
    call.machine.cliques.destroy(comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  const auto machine = belfry::driver::machine();
  const Call call{*machine, belfry::driver::thread_state(machine), __func__};
  const belfry::driver::CountedCall counted(*machine, call.thread, belfry::driver::Thread::kCounts);
  if (const auto planned = machine->book().enter(__func__)) {
    *asyncError = static_cast<ncclResult_t>(*planned);
    misuse(call, *asyncError, "a planned failure");
    return ncclSuccess;
  }
  const auto object = machine->cliques.find(comm, call.thread);
  if (object == nullptr) return no_communicator(call);
  *asyncError = machine->cliques.poll(*object);
  return ncclSuccess;
}
