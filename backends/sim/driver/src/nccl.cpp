// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "clique_work.h"
#include "communicators.h"

#include <nccl.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

using belfry::driver::await_ranks;
using belfry::driver::Call;
using belfry::driver::caller_of;
using belfry::driver::CliqueBook;
using belfry::driver::CliqueCall;
using belfry::driver::guarded_nccl;
using belfry::driver::misuse;
using belfry::driver::no_communicator;
using belfry::driver::refused;
using belfry::driver::Verb;

namespace {

// The end of a transfer, and the queue of the user's stream, which waits for the end.
struct EndOfTransfer {
  belfry::engine::CommandQueue* queue = nullptr;
  belfry::driver::EventObject done;
};

// Passes the call of a rank to the clique of the rank.
ncclResult_t post(const Call& call, const CliqueCall& collective,
                  std::vector<EndOfTransfer>& ends) {
  const int polls = collective.communicator->blocking ? 0 : call.machine.options().polls;
  // After a mismatch of an earlier call of the group.
  const ncclResult_t failure = call.machine.cliques.failure_of(*collective.communicator);
  if (failure != ncclSuccess) return failure;
  CliqueBook::Complaint complaint;
  if (belfry::driver::is_transfer(collective.verb)) {
    EndOfTransfer& end = ends.emplace_back();
    end.queue = collective.stream.queue;
    std::string remark;
    complaint = call.machine.cliques.transfer(collective, end.done, remark);
    if (!remark.empty()) call.machine.book().report(std::string(call.function) + ": " + remark);
  } else {
    complaint = call.machine.cliques.post(collective);
  }
  if (complaint) return misuse(call, ncclInvalidUsage, *complaint);
  call.machine.cliques.set_busy(*collective.communicator, polls);
  return polls > 0 ? ncclInProgress : ncclSuccess;
}

// The result of the last call that fails, or "in progress", or success.
ncclResult_t post_all(const Call& call, std::span<CliqueCall> group) {
  for (CliqueCall& transfer : group) {
    transfer.exchanges = std::ranges::any_of(group, [&transfer](const CliqueCall& other) {
      return belfry::driver::is_transfer(transfer.verb) &&
             belfry::driver::is_transfer(other.verb) && transfer.verb != other.verb &&
             transfer.root == other.root && transfer.communicator == other.communicator;
    });
  }
  ncclResult_t result = ncclSuccess;
  std::vector<EndOfTransfer> ends;
  // During the loop, a waiting host thread can see some members of a collective without the rest.
  // `enqueuing` tells the engine that the rest is to come.
  const belfry::engine::Engine::Enqueuing enqueuing(call.machine.engine());
  for (const CliqueCall& collective : group) {
    const ncclResult_t posted = post(call, collective, ends);
    const bool failed = posted != ncclSuccess && posted != ncclInProgress;
    if (failed || result == ncclSuccess) result = posted;
  }
  // Behind all calls: the transfers of a group wait for no other transfer of the group.
  for (const EndOfTransfer& end : ends) call.machine.judged().wait(*end.queue, end.done);
  return result;
}

// The extents that a collective of a rank reads and writes.
struct Extents {
  std::size_t read = 0;
  std::size_t written = 0;
};

Extents extents_of(const CliqueCall& collective, std::size_t bytes) {
  const int rank = collective.communicator->rank;
  const bool is_root = rank == collective.root;
  const std::size_t all = bytes * static_cast<std::size_t>(collective.communicator->clique->size());
  switch (collective.verb) {
    case Verb::kAllReduce:
      return {bytes, bytes};
    case Verb::kReduce:
      return {bytes, is_root ? bytes : 0};
    case Verb::kBroadcast:
      return {is_root ? bytes : 0, bytes};
    case Verb::kAllGather:
      return {bytes, all};
    case Verb::kSend:
      return {bytes, 0};
    case Verb::kReceive:
      return {0, bytes};
    case Verb::kReduceScatter:
      break;
  }
  return {all, bytes};
}

// Checks the call of a rank. Without a mistake, fills in the memory that the call reads and writes.
ncclResult_t check(const Call& call, cudaStream_t stream, CliqueCall& given) {
  if (call.machine.cliques.busy(*given.communicator)) {
    return misuse(call, ncclInvalidArgument, "the communicator's last call is still in progress");
  }
  if (call.machine.cliques.finalized(*given.communicator)) {
    return misuse(call, ncclInvalidUsage, "the communicator is finalized");
  }
  const int gpu = given.communicator->gpu;
  const auto object = stream == nullptr ? nullptr : call.machine.find_stream(stream, gpu);
  if (object == nullptr || object->gpu != gpu) {
    return misuse(call, ncclInvalidArgument, "the stream is not of the communicator's GPU");
  }
  call.machine.default_streams.order(*object);
  given.stream = *object;
  const auto dtype = belfry::driver::dtype_of(given.type);
  if (!dtype) return misuse(call, ncclInvalidArgument, "no such element type here");
  if (!belfry::driver::reduce_op_of(given.op)) {
    return misuse(call, ncclInvalidArgument, "the simulated driver has no such operator");
  }
  if (given.root < 0 || given.root >= given.communicator->clique->size()) {
    return misuse(call, ncclInvalidArgument, "no rank has the number of the root or peer");
  }
  const Extents extents = extents_of(given, given.count * size_of(*dtype));
  const auto view = [&](const void* address, std::size_t bytes) {
    auto access = call.machine.find(address, bytes);
    const bool fits = access && call.machine.reachable(*access, gpu);
    return fits ? access : std::nullopt;
  };
  if (extents.read > 0) given.read = view(given.send, extents.read);
  if (extents.written > 0) given.written = view(given.receive, extents.written);
  if ((extents.read > 0 && !given.read) || (extents.written > 0 && !given.written)) {
    return misuse(call, ncclInvalidArgument, "a buffer is not live memory of this GPU, or short");
  }
  return ncclSuccess;
}

// The verb of a rank: its collective, its send or its receive.
ncclResult_t collect(const char* function, ncclComm_t handle, cudaStream_t stream,
                     CliqueCall given) {
  return guarded_nccl(function, [&](const Call& call) {
    given.communicator = call.machine.cliques.find(handle, call.thread);
    given.by = caller_of(call);
    if (given.communicator == nullptr) return refused(call, no_communicator(call));
    ncclResult_t code = call.machine.cliques.failure_of(*given.communicator);
    if (code == ncclSuccess) {
      code = check(call, stream, given);
      // The communicator stores the refusal, and refuses all later calls.
      if (code != ncclSuccess) call.machine.cliques.fail(*given.communicator, code);
    }
    if (code != ncclSuccess) return refused(call, code);
    if (call.thread.group_depth == 0) return post_all(call, {&given, 1});
    call.thread.group_asks |= !given.communicator->blocking;
    call.thread.group.push_back(std::move(given));
    return ncclSuccess;
  });
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a CUDA function failed";
    case ncclSystemError:
      return "the system failed";
    case ncclInternalError:
      return "an error inside NCCL";
    case ncclInvalidArgument:
      return "an argument is not valid";
    case ncclInvalidUsage:
      return "a call that is not allowed like this";
    case ncclRemoteError:
      return "another process failed";
    case ncclInProgress:
      return "still in progress";
    case ncclNumResults:
      break;
  }
  return "an unknown result";
}

const char* ncclGetLastError(ncclComm_t /*comm*/) {
  return belfry::driver::thread_state(belfry::driver::machine()).nccl_text.c_str();
}

ncclResult_t ncclGroupStart() {
  return guarded_nccl(__func__, [&](const Call& call) {
    ++call.thread.group_depth;
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  const ncclResult_t ended = guarded_nccl(__func__, [&](const Call& call) {
    if (call.thread.group_depth == 0) return misuse(call, ncclInvalidUsage, "no group is open");
    if (--call.thread.group_depth > 0) return ncclSuccess;
    auto group = std::exchange(call.thread.group, {});
    const auto joining = std::exchange(call.thread.joining, {});
    const bool asks = std::exchange(call.thread.group_asks, false);
    const ncclResult_t refused = std::exchange(call.thread.group_error, ncclSuccess);
    if (refused != ncclSuccess) return refused;
    const ncclResult_t posted = post_all(call, group);
    ncclResult_t result = posted == ncclInProgress ? ncclSuccess : posted;
    for (ncclComm_t comm : joining) {
      const ncclResult_t joined = await_ranks(call, comm);
      if (joined != ncclSuccess) result = joined;
    }
    if (result != ncclSuccess || !asks) return result;
    return call.machine.options().polls > 0 ? ncclInProgress : ncclSuccess;
  });
  // A failed group ends together with all outer groups.
  if (ended != ncclSuccess && ended != ncclInProgress) {
    belfry::driver::ThreadState& thread = belfry::driver::thread_state(belfry::driver::machine());
    thread.group_depth = 0;
    thread.group.clear();
    thread.joining.clear();
    thread.group_asks = false;
    thread.group_error = ncclSuccess;
  }
  return ended;
}

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return collect(__func__, comm, stream,
                 {.verb = Verb::kAllReduce,
                  .send = sendbuff,
                  .receive = recvbuff,
                  .count = count,
                  .type = datatype,
                  .op = op});
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return collect(__func__, comm, stream,
                 {.verb = Verb::kReduce,
                  .send = sendbuff,
                  .receive = recvbuff,
                  .count = count,
                  .type = datatype,
                  .op = op,
                  .root = root});
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return collect(__func__, comm, stream,
                 {.verb = Verb::kBroadcast,
                  .send = sendbuff,
                  .receive = recvbuff,
                  .count = count,
                  .type = datatype,
                  .root = root});
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return collect(__func__, comm, stream,
                 {.verb = Verb::kAllGather,
                  .send = sendbuff,
                  .receive = recvbuff,
                  .count = sendcount,
                  .type = datatype});
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return collect(__func__, comm, stream,
                 {.verb = Verb::kReduceScatter,
                  .send = sendbuff,
                  .receive = recvbuff,
                  .count = recvcount,
                  .type = datatype,
                  .op = op});
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return collect(
      __func__, comm, stream,
      {.verb = Verb::kSend, .send = sendbuff, .count = count, .type = datatype, .root = peer});
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return collect(__func__, comm, stream,
                 {.verb = Verb::kReceive,
                  .receive = recvbuff,
                  .count = count,
                  .type = datatype,
                  .root = peer});
}
