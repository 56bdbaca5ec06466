// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cuda/per_stream.h"

#include <cuda_runtime.h>

#include <mutex>
#include <typeindex>
#include <typeinfo>
#include <vector>

namespace belfry::cuda {

/// The objects that bodies of users' kernels keep for a stream: see belfry/cuda/per_stream.h.
class StreamObjects {
 public:
  /// Without objects. `gpu` is current when an object is made, and when an object ends.
  explicit StreamObjects(int gpu) : gpu_(gpu) {}
  StreamObjects(const StreamObjects&) = delete;
  StreamObjects& operator=(const StreamObjects&) = delete;
  /// Ends the objects, the last first. All work of the stream is done, and the stream exists.
  ~StreamObjects();

  /// Whether no body has made an object. Not while a body runs.
  bool empty() const { return entries_.empty(); }

  /// Marks the calling thread as a body that enqueues on the stream, until the end of the scope.
  class Body {
   public:
    /// `objects` are those of `stream`. Bodies do not nest.
    Body(StreamObjects& objects, cudaStream_t stream) noexcept;
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    ~Body();

    /// Throws: as per_stream.
    void* object(cudaStream_t stream, const std::type_info& type,
                 belfry::detail::StreamObject (*make)(cudaStream_t));

   private:
    StreamObjects& objects_;
    cudaStream_t stream_;
    std::unique_lock<std::mutex> alone_;  // from the first object to the end of the body
  };

 private:
  struct Entry {
    std::type_index type;
    belfry::detail::StreamObject object;
  };

  int gpu_;
  std::mutex mutex_;  // for entries_, and for the objects themselves
  std::vector<Entry> entries_;
};

}  // namespace belfry::cuda
