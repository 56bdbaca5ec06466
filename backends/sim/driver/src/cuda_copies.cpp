// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "guarded.h"

#include <cstring>
#include <string>
#include <vector>

using belfry::driver::Call;
using belfry::driver::Caller;
using belfry::driver::caller_of;
using belfry::driver::guarded_cuda;
using belfry::driver::misuse;
using belfry::driver::no_stream;
using belfry::driver::StreamObject;
using belfry::driver::Touched;
using belfry::engine::Access;
using belfry::engine::Command;

namespace {

cudaError_t bad_address(const Call& call, const char* which, std::size_t bytes) {
  return misuse(call, cudaErrorInvalidValue,
                std::string("no live device memory holds the ") + std::to_string(bytes) +
                    " bytes of the " + which);
}

// Reports that a copy has read bytes that the program changed after the call.
auto change_of(const Call& call) {
  const Caller by = caller_of(call);
  return [by, &book = call.machine.book()] {
    book.report("race for pageable memory of the host: thread " + std::to_string(by.thread) + ": " +
                std::string(by.function) + (by.site.empty() ? "" : " at " + to_string(by.site)) +
                " reads bytes that the program changed after the call: wait for the copy before "
                "the change");
  };
}

cudaError_t write(const Call& call, const StreamObject& stream, void* to, const void* from,
                  std::size_t bytes) {
  const auto access = call.machine.find_mapped(to, bytes);
  if (!access) return bad_address(call, "destination", bytes);
  const auto* first = static_cast<const std::byte*>(from);
  const bool is_late = call.machine.options().pageable_read_late;
  Command command;
  command.name = "copy from the host";
  command.writes = {*access};
  Touched touched{.writes = {*access}};
  const auto pinned = call.machine.find_pinned(from);
  if (const auto source = call.machine.find_mapped(from, bytes)) touched.reads.push_back(*source);
  if (pinned != nullptr) {
    command.held.push_back(pinned);
    command.run = [to, from, bytes](const Command&) { std::memcpy(to, from, bytes); };
  } else if (is_late) {
    touched.host_read = {from, bytes};
    command.run = [to, from, taken = std::vector<std::byte>(first, first + bytes),
                   changed = change_of(call)](const Command&) {
      std::memcpy(to, from, taken.size());
      if (std::memcmp(from, taken.data(), taken.size()) != 0) changed();
    };
  } else {
    command.run = [to, taken = std::vector<std::byte>(first, first + bytes)](const Command&) {
      std::memcpy(to, taken.data(), taken.size());
    };
  }
  call.machine.judged().enqueue(*stream.queue, std::move(command), touched, caller_of(call));
  return cudaSuccess;
}

cudaError_t read(const Call& call, const StreamObject& stream, void* to, const void* from,
                 std::size_t bytes) {
  const auto access = call.machine.find_mapped(from, bytes);
  if (!access) return bad_address(call, "source", bytes);
  // A copy to pageable memory returns after its end. CUDA does not wait for a copy to pinned
  // memory, and the driver does: no order of the races.
  Touched touched{.reads = {*access}};
  const auto target = call.machine.find_mapped(to, bytes);
  if (target) {
    touched.writes.push_back(*target);
  } else {
    touched.host_written = {to, bytes};
  }
  call.machine.judged().read(*stream.queue, to, *access, touched, caller_of(call));
  return cudaSuccess;
}

cudaError_t copy(const Call& call, const StreamObject& stream, void* to, const void* from,
                 std::size_t bytes) {
  const auto target = call.machine.find_mapped(to, bytes);
  if (!target) return bad_address(call, "destination", bytes);
  const auto source = call.machine.find_mapped(from, bytes);
  if (!source) return bad_address(call, "source", bytes);
  Command command;
  command.name = "copy";
  command.reads = {*source};
  command.writes = {*target};
  command.run = [to, from, bytes](const Command&) { std::memmove(to, from, bytes); };
  call.machine.judged().enqueue(*stream.queue, std::move(command), caller_of(call));
  return cudaSuccess;
}

// The kind of a copy between two addresses, for cudaMemcpyDefault. Pinned memory is like memory of
// a GPU: the copy runs late, and the host may change the bytes until then.
cudaMemcpyKind kind_of(const Call& call, const void* to, const void* from) {
  const bool to_device = call.machine.find_mapped(to, 0).has_value();
  if (call.machine.find_mapped(from, 0)) {
    return to_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
  }
  return to_device ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost;
}

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  cudaMemcpyKind kind;
};

// The given kind names a GPU where an address must be of a GPU.
cudaError_t require_gpu(const Call& call, const Copy& given) {
  const cudaMemcpyKind kind = given.kind;
  const bool to_gpu = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_gpu = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (to_gpu && !call.machine.find(given.to, given.bytes)) {
    return bad_address(call, "destination", given.bytes);
  }
  if (from_gpu && !call.machine.find(given.from, given.bytes)) {
    return bad_address(call, "source", given.bytes);
  }
  return cudaSuccess;
}

cudaError_t enqueue(const Call& call, const StreamObject& stream, const Copy& given) {
  if (const cudaError_t code = require_gpu(call, given); code != cudaSuccess) return code;
  switch (given.kind == cudaMemcpyDefault ? kind_of(call, given.to, given.from) : given.kind) {
    case cudaMemcpyHostToDevice:
      return write(call, stream, given.to, given.from, given.bytes);
    case cudaMemcpyDeviceToHost:
      return read(call, stream, given.to, given.from, given.bytes);
    case cudaMemcpyDeviceToDevice:
      return copy(call, stream, given.to, given.from, given.bytes);
    default:
      return misuse(call, cudaErrorInvalidMemcpyDirection,
                    "the simulated driver copies between device and host, and among devices");
  }
}

cudaError_t fill(const Call& call, const StreamObject& stream, void* to, int value,
                 std::size_t bytes) {
  const auto access = call.machine.find(to, bytes);
  if (!access) return bad_address(call, "destination", bytes);
  Command command;
  command.name = "memset";
  command.writes = {*access};
  command.run = [to, value, bytes](const Command&) { std::memset(to, value, bytes); };
  call.machine.judged().enqueue(*stream.queue, std::move(command), caller_of(call));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.stream_for_work(stream, call.thread.gpu);
    if (object == nullptr) return no_stream(call);
    return count == 0 ? cudaSuccess : enqueue(call, *object, {dst, src, count, kind});
  });
}

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind) {
  return guarded_cuda(__func__, [&](const Call& call) {
    if (count == 0) return cudaSuccess;
    const auto stream = call.machine.stream_for_work(nullptr, call.thread.gpu);
    const cudaError_t code = enqueue(call, *stream, {dst, src, count, kind});
    if (code == cudaSuccess) call.machine.judged().synchronize(*stream->queue);
    return code;
  });
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.stream_for_work(stream, call.thread.gpu);
    if (object == nullptr) return no_stream(call);
    return count == 0 ? cudaSuccess : fill(call, *object, devPtr, value, count);
  });
}

// The host does not wait, as CUDA permits for memory of a device.
cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto stream = call.machine.stream_for_work(nullptr, call.thread.gpu);
    return count == 0 ? cudaSuccess : fill(call, *stream, devPtr, value, count);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                size_t count, cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.stream_for_work(stream, call.thread.gpu);
    if (object == nullptr) return no_stream(call);
    if (count == 0) return cudaSuccess;
    const auto on = [&](const void* address, int gpu) {
      const auto access = call.machine.find(address, count);
      return access && access->allocation->device() == gpu;
    };
    if (!on(dst, dstDevice)) return bad_address(call, "destination on its GPU", count);
    if (!on(src, srcDevice)) return bad_address(call, "source on its GPU", count);
    return copy(call, *object, dst, src, count);
  });
}
