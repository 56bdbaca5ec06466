// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "belfry/backend/kernel_failures.h"
#include "belfry/call_site.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

namespace belfry {

/// How a user's kernel uses an operand.
enum class OperandMode : std::uint8_t {
  kReads,    ///< An input.
  kUpdates,  ///< An output whose contents are read, too.
  kWrites,   ///< An output without contents before the kernel, which writes every element.
  kScratch,  ///< Memory without contents before the kernel, and without a use after it.
};

/// The stream of a GPU, for a body that enqueues work: converts to any pointer type, such as
/// `cudaStream_t`. Core sees no header of CUDA.
class NativeStream {
 public:
  /// `handle` is the stream in the type of the backend.
  explicit NativeStream(void* handle) : handle_(handle) {}
  /// The stream as a pointer of the body's choice.
  template <class T>
  operator T*() const noexcept {  // NOLINT: implicit on purpose.
    return static_cast<T*>(handle_);
  }

 private:
  void* handle_;
};

/// The facts about a user's kernel that the types of kernel and operands decide, and the number of
/// operands.
struct UserKernelTraits {
  std::string_view name{};               ///< The name of the type; lives as long as the program.
  std::span<const OperandMode> modes{};  ///< Of each operand, in the order of the launch.
  std::span<const DType> dtypes{};       ///< Of each operand; uint8 for scratch.
  bool on_host = false;                  ///< Whether the kernel has a body for the host.
  bool on_cuda = false;                  ///< Whether the kernel has a body for GPUs.
};

/// The body of a kernel of kind kUser. Kernel::inputs has the operands that are read;
/// Kernel::outputs has the operands that are updated or written, then the scratch memory; each in
/// the order of the launch.
class UserKernel {
 public:
  /// `traits` lives as long as the body.
  explicit UserKernel(const UserKernelTraits& traits) : traits_(&traits) {}
  UserKernel(const UserKernel&) = delete;
  UserKernel& operator=(const UserKernel&) = delete;
  virtual ~UserKernel() = default;

  const UserKernelTraits& traits() const { return *traits_; }  ///< The same for every launch.
  /// The mode of an output of Kernel::outputs.
  OperandMode mode_of_output(std::size_t output) const;
  /// The number of operands with this mode.
  std::size_t count(OperandMode mode) const;

  /// Computes on host memory. For a kernel with `on_host`.
  /// Throws: the exceptions of the body.
  virtual void on_host(const KernelCall& call) const = 0;
  /// Enqueues on `stream`, whose GPU is current. For a kernel with `on_cuda`.
  /// Throws: the exceptions of the body.
  virtual void on_cuda(NativeStream stream, const KernelCall& call) const = 0;

 private:
  const UserKernelTraits* traits_;
};

/// Whether output `output` of a kernel is read, too.
inline bool updates_output(const Kernel& kernel, std::size_t output) {
  return updates_output(kernel.kind) ||
         (kernel.user != nullptr && kernel.user->mode_of_output(output) == OperandMode::kUpdates);
}
inline bool updates_output(const KernelCall& call, std::size_t output) {
  return updates_output(call.kind) ||
         (call.user != nullptr && call.user->mode_of_output(output) == OperandMode::kUpdates);
}

/// Before a launch on a device of the host.
/// Throws: UnsupportedError (kUnsupported) for a user's kernel without `on_host`, with the function
/// to write.
void require_on_host(const UserKernel& user, CallSite site);

/// Runs `on_host` of a kUser call. No context is current in the body, and calls of belfry are
/// refused (SEM-172).
/// Throws: the exceptions of the body.
void run_user_kernel(const KernelCall& call);
/// Runs `on_cuda` of a kUser call in the same way.
/// Throws: also UnsupportedError (kUnsupported) for a kernel without `on_cuda`, with the function
/// to write.
void enqueue_user_kernel(const KernelCall& call, NativeStream stream);

/// The exception of a body, for the host wait that throws the exception. An error of belfry gets
/// the name of the kernel, and if it has none, the place of the launch and the replica, unless -1.
/// Every other exception is unchanged, and `failures` keeps its launch for the report.
/// Without memory for the description the exception is unchanged, too.
std::exception_ptr failure_of_kernel(std::exception_ptr thrown, KernelFailures& failures,
                                     std::string_view kernel, CallSite site, int replica) noexcept;

}  // namespace belfry
