// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/backend/user_kernel.h"
#include "belfry/error.h"
#include "check.h"
#include "guarded.h"
#include "kernel_launch.h"

#include <exception>
#include <optional>
#include <string>

// The second implementation of the backend's `launch`: the host's kernels, and `on_host` of users'
// kernels, as commands of simulated streams.
namespace belfry::driver {
namespace {

std::string_view name_of(const KernelCall& call) {
  return call.user == nullptr ? to_string(call.kind) : call.user->traits().name;
}

// `on_host` stands for `on_cuda`. A body that throws may have written some of its outputs.
void run_body(const KernelCall& call) {
  ThreadState& thread = thread_state(machine());
  thread.in_body = true;
  try {
    run_user_kernel(call);
  } catch (...) {
    thread.in_body = false;
    throw engine::PartlyDone{std::current_exception()};
  }
  thread.in_body = false;
}

void run(const KernelCall& call) {
  if (call.user != nullptr) return run_body(call);
  const std::int64_t bad = first_bad_index(call);
  if (bad >= 0) {
    throw DeviceError(ErrorCode::kOutOfBounds, std::string(to_string(call.kind)) + ": index " +
                                                   std::to_string(bad) +
                                                   " names a row that the table does not have");
  }
  run_on_host(call);
}

std::optional<engine::Access> access_of(const Call& call, const KernelOperand& operand, int gpu) {
  auto access = call.machine.find_mapped(operand.data, operand.count * size_of(operand.dtype));
  if (!access || !call.machine.reachable(*access, gpu)) return std::nullopt;
  return access;
}

cudaError_t no_memory(const Call& call, const KernelCall& kernel, int gpu) {
  return misuse(call, cudaErrorIllegalAddress,
                std::string(name_of(kernel)) +
                    " is given memory that is not live, too short, or out of reach of GPU " +
                    std::to_string(gpu));
}

cudaError_t enqueue(const Call& call, const KernelCall& kernel, cudaStream_t handle) {
  const auto stream = call.machine.streams.find(handle);
  if (stream == nullptr || stream->gpu != call.thread.gpu) {
    return misuse(call, cudaErrorInvalidResourceHandle,
                  "a kernel is launched on a stream that is not of the current GPU");
  }
  engine::Command command;
  command.name = name_of(kernel);
  for (const KernelOperand& operand : kernel.inputs) {
    if (operand.count == 0) continue;
    const auto access = access_of(call, operand, stream->gpu);
    if (!access) return no_memory(call, kernel, stream->gpu);
    command.reads.push_back(*access);
  }
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
    const KernelOperand& operand = kernel.outputs[i];
    if (operand.count == 0) continue;
    const auto access = access_of(call, operand, stream->gpu);
    if (!access) return no_memory(call, kernel, stream->gpu);
    command.writes.push_back(*access);
    if (updates_output(kernel, i)) command.reads.push_back(*access);
    const bool is_scratch =
        kernel.user != nullptr && kernel.user->mode_of_output(i) == OperandMode::kScratch;
    if (is_scratch) ++command.scratch;
  }
  command.calls_program = kernel.user != nullptr;
  command.run = [kernel](const engine::Command&) { run(kernel); };
  Caller by = caller_of(call);
  const std::string name = "kernel " + std::string(command.name);
  by.function = name;
  call.machine.judged().enqueue(*stream->queue, std::move(command), by);
  return cudaSuccess;
}

cudaError_t launch_kernel(const KernelCall& kernel, cudaStream_t stream) {
  return guarded_cuda("launch", [&](const Call& call) { return enqueue(call, kernel, stream); });
}

}  // namespace
}  // namespace belfry::driver

namespace belfry::cuda {

void launch(const KernelCall& call, cudaStream_t stream) {
  if (call.user != nullptr) require_on_host(*call.user, detail::submitting_site());
  // A launch reports errors by cudaGetLastError alone, as on a real GPU: an unread error of an
  // earlier call would show too.
  static_cast<void>(cudaGetLastError());
  static_cast<void>(driver::launch_kernel(call, stream));
  BELFRY_CUDA_TRY(cudaGetLastError());
}

}  // namespace belfry::cuda
