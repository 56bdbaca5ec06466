// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/user_kernel.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"
#include "words/with_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace belfry {
namespace {

std::string_view name_in_cpp(DType dtype) {
  static constexpr std::string_view kNames[kNumDTypes] = {
      "float",        "double",       "belfry::Float16", "belfry::BFloat16",
      "std::int8_t",  "std::int32_t", "std::int64_t",    "std::uint8_t",
      "bool",         "std::int16_t", "std::uint16_t",   "std::uint32_t",
      "std::uint64_t"};
  const auto index = static_cast<std::size_t>(dtype);
  return index < kNumDTypes ? kNames[index] : "T";
}

// `std::span<float>, std::span<const float>`.
std::string parameters_of(const UserKernelTraits& traits) {
  std::string text;
  for (std::size_t i = 0; i < traits.modes.size(); ++i) {
    if (i > 0) text += ", ";
    if (traits.modes[i] == OperandMode::kScratch) {
      text += "std::span<std::byte>";
    } else {
      text += fmt::format("std::span<{}{}>", traits.modes[i] == OperandMode::kReads ? "const " : "",
                          name_in_cpp(traits.dtypes[i]));
    }
  }
  return text;
}

[[noreturn]] void throw_without_body(const UserKernelTraits& traits, std::string_view devices,
                                     std::string_view function, CallSite site) {
  throw UnsupportedError(
      ErrorCode::kUnsupported, fmt::format("kernel {} has no body for {}", traits.name, devices),
      fmt::format("write void {}{}) const", function, parameters_of(traits)), site);
}

}  // namespace

OperandMode UserKernel::mode_of_output(std::size_t output) const {
  std::size_t before = 0;
  for (const OperandMode mode : traits_->modes) {
    const bool is_tensor = mode == OperandMode::kUpdates || mode == OperandMode::kWrites;
    if (is_tensor && before++ == output) return mode;
  }
  return OperandMode::kScratch;
}

std::size_t UserKernel::count(OperandMode mode) const {
  return static_cast<std::size_t>(std::ranges::count(traits_->modes, mode));
}

void require_on_host(const UserKernel& user, CallSite site) {
  if (user.traits().on_host) return;
  throw_without_body(user.traits(), "devices of the host and of simulators", "on_host(", site);
}

void run_user_kernel(const KernelCall& call) {
  const detail::KernelScope scope(call.user->traits().name);
  call.user->on_host(call);
}

void enqueue_user_kernel(const KernelCall& call, NativeStream stream) {
  const UserKernelTraits& traits = call.user->traits();
  if (!traits.on_cuda) {
    throw_without_body(traits, "GPUs", "on_cuda(cudaStream_t, ", detail::submitting_site());
  }
  const detail::KernelScope scope(traits.name);
  call.user->on_cuda(stream, call);
}

namespace {

std::exception_ptr described(std::exception_ptr thrown, KernelFailures& failures,
                             std::string_view kernel, CallSite site, int replica) {
  std::optional<ErrorReport> report = detail::error_report(thrown);
  if (!report) {
    failures.add(thrown, kernel, site, replica);
    return thrown;
  }
  report->summary = fmt::format("kernel {}: {}", kernel, report->summary);
  if (report->site.empty()) report->site = site;
  if (report->replicas.empty() && replica >= 0) {
    report->replicas.push_back({replica, site, "launched this kernel"});
  }
  return detail::with_report(std::move(thrown), *report);
}

}  // namespace

std::exception_ptr failure_of_kernel(std::exception_ptr thrown, KernelFailures& failures,
                                     std::string_view kernel, CallSite site, int replica) noexcept {
  try {
    return described(thrown, failures, kernel, site, replica);
  } catch (const std::bad_alloc&) {
    return thrown;
  }
}

}  // namespace belfry
