// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/detail/taken.h"
#include "belfry/device_spec.h"
#include "belfry/process_group.h"

#include <concepts>
#include <string_view>
#include <type_traits>

/// Tests of the arguments of strategies' constructors. A constructor for wrong arguments has a
/// message with the right call, in place of the compiler's list of all constructors.
namespace belfry {

class Strategy;

namespace detail {

/// The arguments of a strategy over a backend.
template <class Options>
struct OverBackend {
  void operator()(Backend& backend, CallSite site = {}) const;
  void operator()(Backend& backend, const Options& options, CallSite site = {}) const;
};
/// The arguments of a strategy over processes.
template <class Options>
struct OverProcesses {
  void operator()(Backend& backend, ProcessGroup& group, CallSite site = {}) const;
  void operator()(Backend& backend, ProcessGroup& group, const Options& options,
                  CallSite site = {}) const;
};
/// The arguments of a strategy on one device.
struct OnDevice {
  void operator()(Backend& backend, const DeviceSpec& device, CallSite site = {}) const;
};

/// Whether the only argument is a strategy: a copy, with the compiler's own message.
template <class... Args>
constexpr bool kIsCopy = false;
template <class A>
constexpr bool kIsCopy<A> = std::derived_from<std::remove_cvref_t<A>, Strategy>;

/// Whether the constructors with the arguments of Right do not take these arguments.
template <class Right, class... Args>
concept WrongArguments = !std::is_invocable_v<const Right&, Args...> && !kIsCopy<Args...>;

/// The elements of a list of devices in braces. Without a constructor for the list, the first text
/// would be taken for the file of a call site.
template <class T>
concept ListedDevice =
    std::same_as<T, DeviceSpec> || std::is_convertible_v<const T&, std::string_view>;

}  // namespace detail
}  // namespace belfry
