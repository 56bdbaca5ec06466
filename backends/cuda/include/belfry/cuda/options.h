// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/operation.h"
#include "belfry/detail/prints.h"
#include "belfry/flight_recorder.h"
#include "belfry/trace.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Of CUDA and NCCL: cudaStream_t, cudaMemPool_t and ncclComm_t are pointers to the types. A program
// that includes no header of CUDA may include this header.
struct CUstream_st;
struct CUmemPoolHandle_st;
struct ncclComm;

namespace belfry::cuda {

/// How replicas run. With kFiber and kBaton one user thread at a time uses a backend.
enum class Carrier : std::uint8_t {
  kConcurrent,  ///< A thread for each replica, all running at once.
  kFiber,       ///< A single thread; replicas take turns in the order of the Chooser.
  kBaton,       ///< A thread for each replica, with one thread running at a time.
};

/// `concurrent`, `fiber`, `baton`.
std::string to_string(Carrier carrier);

/// An allocator of the program's own, for the memory of GPUs. The functions are those of PyTorch's
/// pluggable allocators. Order: both work in the order of `stream`, as cudaMallocAsync and
/// cudaFreeAsync do, or at once. Replicas may call both at the same time. Neither may call belfry.
struct Allocator {
  /// Memory for `bytes` > 0 on GPU `gpu`; null if there is none.
  std::function<void*(std::size_t bytes, int gpu, CUstream_st* stream)> allocate{};
  /// Takes the memory back, with the bytes and the stream of the call that gave the memory. Must
  /// not throw.
  std::function<void(void* address, std::size_t bytes, int gpu, CUstream_st* stream)> free{};
};

/// The options of a cuda::Backend. Without any: a device on every GPU.
struct Options {
  /// The GPU of each device of the backend, by CUDA number: `{0, 1}`. A GPU may be listed several
  /// times: every entry is a separate device with its own streams and memory counts, for several
  /// replicas on one GPU. Empty: every GPU, `replicas_per_gpu` times each.
  std::vector<int> devices{};
  /// Used if `devices` is empty. 0: no device, for a process without devices (SEM-238).
  int replicas_per_gpu = 1;
  int fitted = 0;  ///< The number of devices over all GPUs, as `fit` spreads them; 0: not used.

  /// kConcurrent is the fastest: the replicas' host code runs at once. kFiber and kBaton repeat the
  /// order of replicas, for debugging.
  Carrier carrier = Carrier::kConcurrent;
  Chooser* chooser = nullptr;     ///< For kFiber and kBaton; null: lowest replica first.
  OperationSink* sink = nullptr;  ///< Receives the operations of replicas; may be null.
  /// Gets the steps of replicas, the work that streams get, and values on the host; may be null.
  TraceFile* trace = nullptr;
  /// Keeps the last merges and collectives; may be null.
  FlightRecorder* recorder = nullptr;

  std::size_t memory_limit_bytes = 0;  ///< Of each device, in bytes; 0: all memory of the GPU.
  /// How long the host waits for the work of a communicator, and for its making: after the limit,
  /// calls that hand over work throw DeviceError (kDeviceLost), and the communicator is aborted.
  /// Shorter: a GPU or process that hangs is noticed sooner. Longer: other work may hold a GPU for
  /// longer. Over several processes each wait of the host has this limit, and the deadline of the
  /// group (SEM-217).
  std::chrono::milliseconds deadline{60'000};
  /// How long replicas wait at a merge for replicas of this process that have not arrived; 0: no
  /// limit. After the limit the run fails with a MergeMismatchError (kDeadline), which has the last
  /// line of each replica, and the recorder writes its files. `run` returns when the late replicas
  /// arrive, end or call belfry. For kConcurrent (SEM-246).
  std::chrono::milliseconds merge_deadline{0};
  /// How long a run takes; 0: no limit. The rest is as with `merge_deadline`.
  std::chrono::milliseconds run_deadline{0};
  /// How long the host waits for work of a stream or event; 0: no limit. After the limit the wait
  /// throws a DeviceError (kDeviceLost), communicators of several GPUs are aborted, and the
  /// recorder writes its files. With a limit the host polls in waits.
  std::chrono::milliseconds work_deadline{0};
  /// A signal that makes the recorder write its files, on a thread of the backend: `SIGUSR1`; 0:
  /// none. The handler before comes back with the end of the backend.
  int write_signal = 0;
  /// Whether a new communicator runs a small and a large collective at once. NCCL then makes its
  /// connections and buffers before the first step: the making takes longer, and memory runs out
  /// there and not in a step. The connections of sends and receives, which are as many as
  /// pairs of GPUs, are made by the first exchange of each pair.
  bool warm_up = true;
  /// Must be true if the environment has CUDA_LAUNCH_BLOCKING=1, which the library does not read: a
  /// launch then waits for its kernel, and one thread that launches a collective on several GPUs
  /// waits for ever. If true, communicators over several GPUs are refused with UnsupportedError
  /// (kUnsupported).
  bool launches_block = false;
  /// A range of NVTX for each replica, merge and collective, and a mark for each write to a
  /// variable, with verb, line and name: for Nsight Systems. Off: no call to NVTX.
  bool nvtx = false;

  // Objects of the program's own, one for each device, in the order of the devices. The program
  // keeps the ownership: the objects outlive the backend, and its strategies and tensors. Objects
  // that do not fit the devices are an error of the constructor.

  /// The compute stream of each device; empty: belfry makes the streams. Work that the program
  /// enqueues there is ordered with the work of belfry. Two devices need two streams, and the
  /// default streams of CUDA are refused.
  std::vector<CUstream_st*> compute_streams{};
  /// The communicator of NCCL of each device; empty: belfry makes communicators. Each device needs
  /// a GPU of its own. Ranks follow the order of the devices, in a job of several processes from
  /// the first rank of the process on. Strategies over all devices, in the order of the devices,
  /// use the communicators. While a collective of belfry is enqueued, the program may not use them.
  /// After an error belfry neither aborts nor ends them: the program does, before it ends the
  /// backend.
  std::vector<ncclComm*> communicators{};
  /// The pool of each device's memory; empty: belfry makes pools. The program sets what the pool
  /// keeps. belfry reads the memory from no other GPU: copies between GPUs go through CUDA.
  std::vector<CUmemPoolHandle_st*> memory_pools{};
  /// The source of memory in place of pools; without functions: the pools. belfry reads this
  /// memory, like memory of pools of the program, from no other GPU.
  Allocator allocator{};

  /// Whether values that are promised equal, such as components of mirrored variables, are compared
  /// at each use: each comparison copies them to the host, and blocks the host. For tests.
  bool verify_mirrored = false;

  /// Options for `replicas` devices, spread over all GPUs: one device for each GPU while the GPUs
  /// suffice, else an equal number of neighbours on each GPU.
  static Options fit(int replicas) {
    Options options;
    options.fitted = replicas;
    return options;
  }
};

/// The options as an initializer that compiles, without members of their usual value. A chooser and
/// a sink are the words `"a Chooser"` and `"an OperationSink"`, a trace is `"a TraceFile"`, a
/// flight recorder `"a FlightRecorder"`, and objects of the program's own are `"the program's"`.
std::string to_string(const Options& options);

using belfry::operator<<;

}  // namespace belfry::cuda
