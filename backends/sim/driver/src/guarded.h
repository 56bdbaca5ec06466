// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/machine_uses.h"
#include "machine.h"
#include "thread_state.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdint>
#include <exception>
#include <string>

namespace belfry::driver {

/// The state that every function of the interface uses.
struct Call {
  Machine& machine;
  ThreadState& thread;
  const char* function;
};

/// The call, for the reports of races.
Caller caller_of(const Call& call);

/// Records a misuse, keeps its text for cudaGetErrorString, and returns `code`.
cudaError_t misuse(const Call& call, cudaError_t code, const std::string& what);
/// The same for NCCL, for ncclGetLastError.
ncclResult_t misuse(const Call& call, ncclResult_t code, const std::string& what);

/// The misuse of a call whose stream does not exist.
cudaError_t no_stream(const Call& call);

/// The code for an exception of a simulated command. The text is kept as for a misuse.
cudaError_t failure(const Call& call, std::exception_ptr thrown);

/// Reports a call to the observer of the machine.
class ObservedCall {
 public:
  explicit ObservedCall(const Machine& machine) : observer_(machine.options().observer) {
    if (observer_ != nullptr) observer_->enter();
  }
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;
  ~ObservedCall() {
    if (observer_ != nullptr) observer_->leave();
  }

 private:
  sim::CallObserver* observer_;
};

/// Whether a call counts as one that may enqueue or wait. Questions about the machine do not.
enum class Thread : std::uint8_t { kCounts, kAsks };

/// Counts the calling thread during a call.
class CountedCall {
 public:
  CountedCall(Machine& machine, ThreadState& state, Thread thread)
      : machine_(machine), state_(thread == Thread::kCounts ? &state : nullptr) {
    if (state_ != nullptr) state_->set_inside(machine_, true);
  }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
  ~CountedCall() {
    if (state_ != nullptr) state_->set_inside(machine_, false);
  }

 private:
  Machine& machine_;
  ThreadState* state_;
};

/// A call in the body of a kernel is a misuse, as in a host function of CUDA. The machine is locked
/// while a body runs.
inline constexpr const char* kCallInBody = "the body of a kernel calls CUDA or NCCL";

/// Runs the body of a CUDA function: counts the call, lets the call fail if planned, turns
/// exceptions into codes, and keeps the last error of the thread.
template <Thread thread = Thread::kCounts, class Body>
cudaError_t guarded_cuda(const char* function, Body&& body) {
  belfry::detail::note_use_beside_bodies();
  const std::shared_ptr<Machine> shared = machine();
  const ObservedCall observed(*shared);
  const Call call{*shared, thread_state(shared), function};
  if (call.thread.in_body) return misuse(call, cudaErrorNotPermitted, kCallInBody);
  const CountedCall counted(*shared, call.thread, thread);
  cudaError_t code = cudaSuccess;
  if (const auto planned = shared->book().enter(function)) {
    code = static_cast<cudaError_t>(*planned);
  } else if (!shared->options().installed) {
    code = cudaErrorInsufficientDriver;
  } else {
    try {
      code = body(call);
    } catch (...) {
      code = failure(call, std::current_exception());
    }
  }
  // "Not ready" is an answer, not an error, and CUDA does not keep the code.
  if (code != cudaSuccess && code != cudaErrorNotReady) call.thread.last_error = code;
  return code;
}

template <Thread thread = Thread::kCounts, class Body>
ncclResult_t guarded_nccl(const char* function, Body&& body) {
  belfry::detail::note_use_beside_bodies();
  const std::shared_ptr<Machine> shared = machine();
  const ObservedCall observed(*shared);
  const Call call{*shared, thread_state(shared), function};
  if (call.thread.in_body) return misuse(call, ncclInvalidUsage, kCallInBody);
  const CountedCall counted(*shared, call.thread, thread);
  if (const auto planned = shared->book().enter(function)) {
    return misuse(call, static_cast<ncclResult_t>(*planned), "a planned failure");
  }
  try {
    return body(call);
  } catch (const std::exception& error) {
    return misuse(call, ncclInternalError, error.what());
  }
}

}  // namespace belfry::driver
