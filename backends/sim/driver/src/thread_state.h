// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clique.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace belfry::driver {

class Machine;

/// The state of CUDA and NCCL for each host thread. Belongs to a machine, and starts anew with the
/// next.
///
/// The thread counts among the threads that may end a wait while a call of the thread is in
/// progress, and while the thread made the last call with a communicator. A wait without an end is
/// always a wait for the collective of a rank. A thread without a rank, for example a main thread
/// that has handed its communicators over and joins the threads of the ranks, ends no wait.
struct ThreadState {
  explicit ThreadState(std::weak_ptr<Machine> owner) : machine(std::move(owner)) {}
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  ~ThreadState();

  /// The thread enters or leaves a call that may wait or enqueue. May be told of by this thread
  /// alone.
  void set_inside(Machine& owner, bool inside);
  /// Adds to the number of communicators whose last call was made by the thread.
  void change_ranks(Machine& owner, int change);

  std::weak_ptr<Machine> machine;
  int number = 0;  ///< In the order of the first calls on the machine, from 1.
  int gpu = 0;
  cudaError_t last_error = cudaSuccess;
  std::string last_text;  ///< Text of the latest error.
  cudaError_t text_of = cudaSuccess;
  std::string nccl_text;  ///< The same for NCCL.
  int group_depth = 0;
  std::vector<CliqueCall> group;           ///< Calls made in the open group.
  std::vector<ncclComm_t> joining;         ///< Blocking communicators made in the open group.
  bool group_asks = false;                 ///< It has calls of communicators that do not block.
  ncclResult_t group_error = ncclSuccess;  ///< Error of a refused call in the group.
  /// Whether the thread runs the body of a kernel, with the machine's engine locked.
  bool in_body = false;

 private:
  void count(Machine& owner);

  // Other threads take communicators over.
  std::mutex mutex_;
  bool inside_ = false;
  int ranks_ = 0;
  bool counted_ = false;
};

/// The state of the calling thread on `machine`.
ThreadState& thread_state(const std::shared_ptr<Machine>& machine);

}  // namespace belfry::driver
