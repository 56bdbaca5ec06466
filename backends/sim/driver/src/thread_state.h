// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clique.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::driver {

class Machine;

/// The state of CUDA and NCCL for each host thread. Belongs to a machine, and starts anew with the
/// next.
struct ThreadState {
  explicit ThreadState(std::weak_ptr<Machine> owner) : machine(std::move(owner)) {}
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  ~ThreadState();

  /// Counts the thread among those that may enqueue work, from now to the end of the thread.
  void count(Machine& owner);

  std::weak_ptr<Machine> machine;
  bool counted = false;
  int gpu = 0;
  cudaError_t last_error = cudaSuccess;
  std::string last_text;  ///< Text of the latest error.
  cudaError_t text_of = cudaSuccess;
  std::string nccl_text;  ///< The same for NCCL.
  int group_depth = 0;
  std::vector<CliqueCall> group;           ///< Calls made in the open group.
  std::vector<ncclComm_t> joining;         ///< Blocking communicators made in the open group.
  bool group_blocks = false;               ///< The open group has calls of blocking communicators.
  ncclResult_t group_error = ncclSuccess;  ///< Error of a refused call in the group.
};

/// The state of the calling thread on `machine`.
ThreadState& thread_state(const std::shared_ptr<Machine>& machine);

}  // namespace belfry::driver
