// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <list>
#include <mutex>

namespace belfry::cuda {

class DeviceState;

/// Pinned host memory of one device. Writes of the host pass through the memory. CUDA's
/// documentation does not promise that a copy from pageable memory has read the memory when the
/// call returns: the driver may synchronize and stage the bytes, and may stage them later. Copying
/// the bytes here first frees the source at once.
///
/// How the class works. The memory is a ring. A piece of the ring is in use until an event tells
/// that the copy out of the piece is done. If the ring has no room, the host waits for the oldest
/// piece.
class Staging {
 public:
  explicit Staging(DeviceState& device) : device_(device) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  /// No copy may be going on.
  ~Staging();

  /// Enqueues a copy of `bytes` from host memory, which may be reused at once. The device's GPU is
  /// current; `kind` is the default kind for a target in memory of the host. Order: the host blocks
  /// while the ring is full, and until the copy is done if CUDA has no pinned memory. Throws:
  /// DeviceError; std::bad_alloc.
  void write(void* to, const void* from, std::size_t bytes, cudaStream_t stream,
             cudaMemcpyKind kind = cudaMemcpyHostToDevice);

 private:
  // A part of the ring, while its copy is enqueued or runs.
  struct Piece {
    std::size_t begin = 0;
    std::size_t end = 0;
    cudaEvent_t done = nullptr;
  };

  bool has_memory();
  void write_piece(void* to, const void* from, std::size_t bytes, cudaStream_t stream,
                   cudaMemcpyKind kind);
  std::size_t make_room(std::size_t bytes);
  void free_oldest();

  DeviceState& device_;
  std::mutex mutex_;  // for all below
  std::byte* memory_ = nullptr;
  bool refused_ = false;  // CUDA had no pinned memory.
  std::size_t next_ = 0;  // Where the next piece may begin.
  std::list<Piece> pieces_;
};

}  // namespace belfry::cuda
