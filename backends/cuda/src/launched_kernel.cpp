// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "launched_kernel.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"
#include "check.h"

#include <string>
#include <string_view>
#include <utility>

namespace belfry::cuda {
namespace {

class LaunchedKernel final : public UserKernel {
 public:
  LaunchedKernel(std::shared_ptr<const UserKernel> body, std::shared_ptr<KernelFailures> failures,
                 StreamObjects& objects)
      : UserKernel(body->traits()),
        body_(std::move(body)),
        failures_(std::move(failures)),
        objects_(objects),
        site_(detail::submitting_site()),
        replica_(detail::current_replica_id()) {}

  void on_host(const KernelCall& call) const override {
    try {
      body_->on_host(call);
    } catch (...) {
      const std::string_view kernel = traits().name;
      const std::string number = failures_->add(described(), kernel, site_, replica_);
      throw DeviceError(ErrorCode::kDeviceLost,
                        "the body of kernel " + std::string(kernel) + " threw " + number, {},
                        site_);
    }
  }
  void on_cuda(NativeStream stream, const KernelCall& call) const override {
    try {
      const StreamObjects::Body scope(objects_, stream);
      body_->on_cuda(stream, call);
      // A launch `<<<...>>>` returns no code.
      check_call(cudaGetLastError(), "cudaGetLastError() after on_cuda", site_);
    } catch (...) {
      std::rethrow_exception(described());
    }
  }

 private:
  // In a handler.
  std::exception_ptr described() const {
    return failure_of_kernel(std::current_exception(), *failures_, traits().name, site_, replica_);
  }

  std::shared_ptr<const UserKernel> body_;    // with the launch
  std::shared_ptr<KernelFailures> failures_;  // with the backend
  StreamObjects& objects_;
  CallSite site_;
  int replica_;
};

}  // namespace

std::shared_ptr<const UserKernel> launched_kernel(std::shared_ptr<const UserKernel> body,
                                                  std::shared_ptr<KernelFailures> failures,
                                                  StreamObjects& objects) {
  return std::make_shared<const LaunchedKernel>(std::move(body), std::move(failures), objects);
}

void check_wait(const KernelFailures& failures, cudaError_t code, const char* call, CallSite site) {
  try {
    check_call(code, call, site);
  } catch (const DeviceError& error) {
    const std::exception_ptr failure = failures.find(error.report().summary);
    if (failure == nullptr) throw;
    std::rethrow_exception(failure);
  }
}

}  // namespace belfry::cuda
