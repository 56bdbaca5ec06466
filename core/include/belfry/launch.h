// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/user_kernel.h"
#include "belfry/call_site.h"
#include "belfry/detail/kernel_body.h"
#include "belfry/detail/launch_operand.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <type_traits>

namespace belfry {

/// Passes a tensor that the kernel reads: the body gets a `std::span<const T>`. `x` lives until the
/// launch. The call site of the first operand is the launch's in messages.
template <Element T>
detail::TypedOperand<OperandMode::kReads, T> reads(const Tensor<T>& x,
                                                   CallSite site = CallSite::here()) {
  return {{OperandMode::kReads, &x.any(), nullptr, 0}, site};
}
/// Passes a tensor that the kernel reads and changes: the body gets a `std::span<T>`. Storage that
/// other handles share is copied first, and these handles keep their values.
template <Element T>
detail::TypedOperand<OperandMode::kUpdates, T> updates(Tensor<T>& x,
                                                       CallSite site = CallSite::here()) {
  return {{OperandMode::kUpdates, &x.any(), &x.any(), 0}, site};
}
/// Passes a tensor that the kernel writes in every element and does not read: the body gets a
/// `std::span<T>`. Storage that other handles share is replaced first, without a copy. See
/// Tensor::uninitialised.
template <Element T>
detail::TypedOperand<OperandMode::kWrites, T> writes(Tensor<T>& x,
                                                     CallSite site = CallSite::here()) {
  return {{OperandMode::kWrites, &x.any(), &x.any(), 0}, site};
}
/// Passes memory of the device for the time of the kernel, without contents: the body gets a
/// `std::span<std::byte>`, aligned to 64 bytes or more.
inline detail::TypedOperand<OperandMode::kScratch, std::byte> scratch(
    std::size_t bytes, CallSite site = CallSite::here()) {
  return {{OperandMode::kScratch, nullptr, nullptr, bytes}, site};
}

/// Launches a kernel of the user's: a trivially copyable struct, copied at the launch.
///
///     struct ScaleAndAdd {
///       float scale;
///       void on_host(std::span<float> y, std::span<const float> x) const { ... }
///       void on_cuda(cudaStream_t stream, std::span<float> y, std::span<const float> x) const;
///     };
///     launch(ScaleAndAdd{2}, updates(y), reads(x));
///
/// `on_host` computes on devices of the host, of the simulator and of the simulated driver;
/// `on_cuda` enqueues work on the stream, on GPUs. Both take a span for each operand, in the order
/// of the launch. An optional `check(const Shape&...)`, with the shape of each tensor, throws or
/// returns false to refuse the shapes. `docs/kernels.md` has an example.
/// Order: enqueued on the compute stream of the operands' device. If no tensor has an element, no
/// body is called. A body on the host runs when the stream runs.
/// Throws:
/// - InvalidArgumentError (kInvalidArgument): a default-constructed tensor, no tensor at all, or a
///   tensor that is written and is a second operand, too, except `reads` and `updates` of one
///   tensor;
/// - InvalidArgumentError (kForeignObject): tensors on several devices;
/// - InvalidArgumentError (kShape): `check` returns false;
/// - UnsupportedError (kUnsupported): no body for the device;
/// - DeviceError (kOutOfMemory);
/// - exceptions of `check` and `on_cuda`. An exception of `on_host` is thrown by the next host wait
///   (SEM-173).
template <class K, class... O>
void launch(const K& kernel, const O&... operands) {
  constexpr detail::LaunchMistake kMistake = detail::mistake_in_launch<K, O...>();
  static_assert(kMistake != detail::LaunchMistake::kOperands,
                "write launch(kernel, updates(y), reads(x)): operands are reads(tensor), "
                "updates(tensor), writes(tensor) and scratch(bytes)");
  static_assert(kMistake != detail::LaunchMistake::kCopy,
                "a kernel is copied bytewise: write a trivially copyable struct, with numbers, "
                "arrays of fixed size and pointers as members");
  static_assert(kMistake != detail::LaunchMistake::kNoBody,
                "the kernel has no body: write void on_host(std::span<T> y, std::span<const T> x) "
                "const, with a span for each operand of the launch");
  static_assert(kMistake != detail::LaunchMistake::kHostBody,
                "on_host does not fit the launch: write void on_host(...) const with, in the order "
                "of the launch, std::span<const T> for reads, std::span<T> for updates and writes, "
                "std::span<std::byte> for scratch");
  static_assert(kMistake != detail::LaunchMistake::kCudaBody,
                "on_cuda does not fit the launch: write void on_cuda(cudaStream_t stream, ...) "
                "const with, in the order of the launch, std::span<const T> for reads, "
                "std::span<T> for updates and writes, std::span<std::byte> for scratch");
  static_assert(kMistake != detail::LaunchMistake::kCheck,
                "check does not fit the launch: write void check(const Shape&...) const, with a "
                "shape for each tensor of the launch");
  if constexpr (kMistake == detail::LaunchMistake::kNone) {
    detail::launch_typed(kernel, operands...);
  }
}

}  // namespace belfry
