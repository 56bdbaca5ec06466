// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "stream_objects.h"

#include "belfry/error.h"
#include "current_gpu.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <typeinfo>
#include <utility>

namespace belfry::cuda {
namespace {

// The body that the calling thread runs; null outside of bodies.
thread_local StreamObjects::Body* running_body = nullptr;

}  // namespace

StreamObjects::~StreamObjects() {
  if (entries_.empty()) return;
  std::optional<CurrentGpu> current;
  try {
    current.emplace(gpu_);
  } catch (const std::exception&) {
    // The GPU is lost, or the process ends. The objects release their memory of the host.
  }
  while (!entries_.empty()) entries_.pop_back();
}

StreamObjects::Body::Body(StreamObjects& objects, cudaStream_t stream) noexcept
    : objects_(objects), stream_(stream), alone_(objects.mutex_, std::defer_lock) {
  running_body = this;
}

StreamObjects::Body::~Body() { running_body = nullptr; }

void* StreamObjects::Body::object(cudaStream_t stream, const std::type_info& type,
                                  belfry::detail::StreamObject (*make)(cudaStream_t)) {
  if (stream != stream_) {
    throw InvalidArgumentError(ErrorCode::kForeignObject,
                               "cuda::per_stream is given another stream than the body's",
                               "pass the stream that on_cuda gets");
  }
  if (!alone_.owns_lock()) alone_.lock();
  std::vector<Entry>& entries = objects_.entries_;
  const auto known = std::ranges::find(entries, std::type_index(type), &Entry::type);
  if (known != entries.end()) return known->object.get();
  // The body may have made another GPU current.
  const CurrentGpu current(objects_.gpu_);
  // The constructor may add objects of its own.
  belfry::detail::StreamObject made = make(stream);
  return entries.emplace_back(type, std::move(made)).object.get();
}

}  // namespace belfry::cuda

namespace belfry::detail {

void* object_of_stream(CUstream_st* stream, const std::type_info& type,
                       StreamObject (*make)(CUstream_st* stream)) {
  if (cuda::running_body == nullptr) {
    throw ContextError(ErrorCode::kWrongContext, "cuda::per_stream is called outside of on_cuda",
                       "call the function in the body on_cuda of a kernel, with the body's stream");
  }
  return cuda::running_body->object(stream, type, make);
}

}  // namespace belfry::detail
