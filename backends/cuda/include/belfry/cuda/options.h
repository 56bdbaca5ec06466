// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/operation.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::cuda {

/// How replicas are carried. With kConcurrent alone may threads of the user's share a backend.
enum class Carrier : std::uint8_t {
  kConcurrent,  ///< One thread a replica, all running at once.
  kFiber,       ///< One thread in all; replicas take turns in the order of the Chooser.
  kBaton,       ///< One thread a replica, one of which runs at a time.
};

/// What a cuda::Backend is made of.
struct Options {
  /// The GPU of each device of the backend, by its number in CUDA. A GPU may be named several
  /// times: each time is a device of its own, with streams and memory counts of its own, so that
  /// several replicas share one GPU. Empty: every GPU, `replicas_per_gpu` times each.
  std::vector<int> devices{};
  int replicas_per_gpu = 1;  ///< Read when `devices` is empty.
  int fitted = 0;            ///< Not 0: this many devices over the GPUs there are; see `fit`.

  Carrier carrier = Carrier::kConcurrent;
  Chooser* chooser = nullptr;     ///< For fibers and the baton; null: lowest replica first.
  OperationSink* sink = nullptr;  ///< Sees what replicas do; may be null.

  std::size_t memory_limit_bytes = 0;  ///< Of each device; 0: what the GPU has.
  /// How long a communicator may take to be made and to accept work before a DeviceError
  /// (kDeviceLost), and to end before it is aborted.
  std::chrono::milliseconds deadline{60'000};
  /// Whether communicators run a small and a large collective when they are made, so that NCCL's
  /// connections and buffers are not made inside a first step.
  bool warm_up = true;
  /// Say so where CUDA_LAUNCH_BLOCKING=1 is set (the library reads no environment variables). One
  /// launcher for several GPUs would wait for ever then, so communicators over GPUs are refused:
  /// UnsupportedError (kUnsupported).
  bool launches_block = false;
  /// Whether values promised equal are compared at run time.
  bool verify_mirrored = false;

  /// `replicas` devices, spread over the GPUs there are: one each while they suffice, else equally
  /// many neighbours on each GPU.
  static Options fit(int replicas) {
    Options options;
    options.fitted = replicas;
    return options;
  }
};

}  // namespace belfry::cuda
