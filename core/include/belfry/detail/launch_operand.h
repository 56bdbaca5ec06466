// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/user_kernel.h"
#include "belfry/call_site.h"
#include "belfry/detail/kernel_body.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// The parts of `belfry/launch.h`.
namespace belfry::detail {

/// An operand of a launch, without its element type.
struct LaunchOperand {
  OperandMode mode = OperandMode::kReads;
  const AnyTensor* tensor = nullptr;  ///< Null for scratch.
  AnyTensor* changed = nullptr;       ///< The same tensor, if the kernel changes it.
  std::size_t bytes = 0;              ///< Of scratch.
};

/// An operand, as `reads(x)` returns it.
template <OperandMode mode, class T>
struct TypedOperand {
  using Element = T;
  using Span = std::span<std::conditional_t<mode == OperandMode::kReads, const T, T>>;
  static constexpr OperandMode kMode = mode;
  static constexpr DType kDType = [] {
    if constexpr (mode == OperandMode::kScratch) {
      return DType::kUInt8;
    } else {
      return dtype_of<T>();
    }
  }();

  LaunchOperand operand;
  CallSite site;
};

template <class O>
constexpr bool kIsOperand = false;
template <OperandMode mode, class T>
constexpr bool kIsOperand<TypedOperand<mode, T>> = true;

/// The shape that `check` gets for an operand, if the operand is a tensor.
template <OperandMode mode, class T>
auto shape_of_operand(const TypedOperand<mode, T>& typed) {
  if constexpr (mode == OperandMode::kScratch) {
    return std::tuple<>();
  } else {
    return std::tie(typed.operand.tensor->shape());
  }
}
template <class... O>
using ShapesOf = decltype(std::tuple_cat(shape_of_operand(std::declval<const O&>())...));

template <class K, class Shapes>
constexpr bool kChecks = false;
template <class K, class... S>
constexpr bool kChecks<K, std::tuple<S...>> =
    requires(const K& kernel, S... shapes) { kernel.check(shapes...); };

enum class LaunchMistake : std::uint8_t {
  kNone,
  kOperands,
  kCopy,
  kNoBody,
  kHostBody,
  kCudaBody,
  kCheck
};

/// The first mistake in `launch(kernel, operands...)`.
template <class K, class... O>
constexpr LaunchMistake mistake_in_launch() {
  if constexpr (sizeof...(O) == 0 || !(kIsOperand<O> && ...)) {
    return LaunchMistake::kOperands;
  } else if constexpr (!std::is_trivially_copyable_v<K>) {
    return LaunchMistake::kCopy;
  } else if constexpr (has_on_host<K>() && !RunsOnHost<K, O...>) {
    return LaunchMistake::kHostBody;
  } else if constexpr (has_on_cuda<K>() && !RunsOnCuda<K, O...>) {
    return LaunchMistake::kCudaBody;
  } else if constexpr (!has_on_host<K>() && !has_on_cuda<K>()) {
    return LaunchMistake::kNoBody;
  } else if constexpr (has_check<K>() && !kChecks<K, ShapesOf<O...>>) {
    return LaunchMistake::kCheck;
  } else {
    return LaunchMistake::kNone;
  }
}

/// Throws: InvalidArgumentError (kInvalidArgument, kForeignObject): the operands of a launch of
/// `kernel` do not belong together.
void require_operands(std::string_view kernel, std::span<const LaunchOperand> operands,
                      CallSite site);
/// Throws: InvalidArgumentError (kShape), with the shapes of the tensors.
[[noreturn]] void throw_refused_shapes(std::string_view kernel,
                                       std::span<const LaunchOperand> operands, CallSite site);
/// The exception of `check`: an error of belfry without a place gets the place of the launch.
[[noreturn]] void rethrow_of_check(std::exception_ptr thrown, CallSite site);
/// Enqueues a kernel whose operands belong together. If the launch throws, every tensor has the
/// value from before.
void launch_user(std::shared_ptr<const UserKernel> body, std::span<const LaunchOperand> operands,
                 CallSite site);

template <class K, class... O>
void check_shapes(const K& kernel, std::span<const LaunchOperand> list, CallSite site,
                  const O&... operands) {
  const auto call = [&](const auto&... shapes) {
    if constexpr (std::is_void_v<decltype(kernel.check(shapes...))>) {
      kernel.check(shapes...);
      return true;
    } else {
      return static_cast<bool>(kernel.check(shapes...));
    }
  };
  bool accepted = false;
  try {
    accepted = std::apply(call, std::tuple_cat(shape_of_operand(operands)...));
  } catch (...) {
    rethrow_of_check(std::current_exception(), site);
  }
  if (!accepted) throw_refused_shapes(kernel_name<K>(), list, site);
}

template <class K, class... O>
void launch_typed(const K& kernel, const O&... operands) {
  const LaunchOperand list[] = {operands.operand...};
  const CallSite site = std::get<0>(std::tie(operands...)).site;
  require_operands(kernel_name<K>(), list, site);
  if constexpr (has_check<K>()) check_shapes(kernel, std::span(list), site, operands...);
  launch_user(std::make_shared<const KernelBody<K, O...>>(kernel), list, site);
}

}  // namespace belfry::detail
