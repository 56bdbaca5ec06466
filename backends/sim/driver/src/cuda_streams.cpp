// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "guarded.h"

using belfry::driver::Call;
using belfry::driver::EventObject;
using belfry::driver::guarded_cuda;
using belfry::driver::misuse;
using belfry::driver::no_stream;
using belfry::driver::StreamObject;

namespace {

cudaError_t no_event(const Call& call) {
  return misuse(call, cudaErrorInvalidResourceHandle, "no event has this handle");
}

cudaError_t make_stream(const Call& call, cudaStream_t* handle, unsigned int flags, int priority) {
  if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) {
    return misuse(call, cudaErrorInvalidValue, "no stream has these flags");
  }
  const auto number = call.machine.next_stream_number();
  auto stream = std::make_shared<StreamObject>();
  stream->gpu = call.thread.gpu;
  if (flags == cudaStreamDefault) stream->kind = StreamObject::Kind::kBlocking;
  stream->queue = &call.machine.engine().create_queue(
      {stream->gpu, number,
       "GPU " + std::to_string(stream->gpu) + ", priority " + std::to_string(priority)});
  if (flags == cudaStreamDefault) call.machine.default_streams.add_blocking(stream);
  *handle = static_cast<cudaStream_t>(call.machine.streams.insert(std::move(stream)));
  return cudaSuccess;
}

cudaError_t make_event(const Call& call, cudaEvent_t* event) {
  auto object = std::make_shared<EventObject>();
  object->gpu = call.thread.gpu;
  *event = static_cast<cudaEvent_t>(call.machine.events.insert(std::move(object)));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return guarded_cuda(
      __func__, [&](const Call& call) { return make_stream(call, pStream, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return guarded_cuda(__func__,
                      [&](const Call& call) { return make_stream(call, pStream, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
  return guarded_cuda(
      __func__, [&](const Call& call) { return make_stream(call, pStream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.streams.erase(stream);
    if (object == nullptr) return no_stream(call);
    call.machine.default_streams.remove_blocking(object);
    call.machine.judged().destroy_queue(*object->queue);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.find_stream(stream, call.thread.gpu);
    if (object == nullptr) return no_stream(call);
    call.machine.judged().synchronize(*object->queue);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.find_stream(stream, call.thread.gpu);
    if (object == nullptr) return no_stream(call);
    const bool done = call.machine.judged().query(*object->queue);
    call.machine.engine().check_failures();
    return done ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.stream_for_work(stream, call.thread.gpu);
    if (object == nullptr) return no_stream(call);
    const auto point = call.machine.events.find(event);
    if (point == nullptr) return no_event(call);
    if (flags != 0) return misuse(call, cudaErrorInvalidValue, "flags are not 0");
    call.machine.judged().wait(*object->queue, *point);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return guarded_cuda(__func__, [&](const Call& call) { return make_event(call, event); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int /*flags*/) {
  return guarded_cuda(__func__, [&](const Call& call) { return make_event(call, event); });
}

// Simulated work takes no time, and any number would look like a measurement.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return guarded_cuda(__func__, [&](const Call& call) {
    *ms = 0;
    for (cudaEvent_t event : {start, end}) {
      if (call.machine.events.find(event) == nullptr) return no_event(call);
    }
    return misuse(call, cudaErrorNotSupported,
                  "simulated GPUs have no time: events give order, and no durations");
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto point = call.machine.events.find(event);
    if (point == nullptr) return no_event(call);
    const auto object = call.machine.stream_for_work(stream, call.thread.gpu);
    if (object == nullptr) return no_stream(call);
    if (point->gpu != object->gpu) {
      return misuse(call, cudaErrorInvalidResourceHandle,
                    "an event of GPU " + std::to_string(point->gpu) +
                        " is recorded on a stream of GPU " + std::to_string(object->gpu));
    }
    call.machine.judged().record(*object->queue, *point);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto point = call.machine.events.find(event);
    if (point == nullptr) return no_event(call);
    return call.machine.judged().query(*point) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto point = call.machine.events.find(event);
    if (point == nullptr) return no_event(call);
    call.machine.judged().synchronize(*point);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return guarded_cuda(__func__, [&](const Call& call) {
    return call.machine.events.erase(event) == nullptr ? no_event(call) : cudaSuccess;
  });
}
