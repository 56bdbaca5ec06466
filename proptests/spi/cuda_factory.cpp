// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_factory.h"

namespace belfry::testing {

std::unique_ptr<Backend> CudaFactory::make(const BackendRequest& request) const {
  cuda::Options options;
  for (int index = 0; index < request.devices; ++index) {
    options.devices.push_back(devices_per_gpu_ == 0 ? 0 : index / devices_per_gpu_);
  }
  options.carrier = request.carrier == CarrierKind::kFiber   ? cuda::Carrier::kFiber
                    : request.carrier == CarrierKind::kBaton ? cuda::Carrier::kBaton
                                                             : cuda::Carrier::kConcurrent;
  options.warm_up = false;
  return std::make_unique<cuda::Backend>(options);
}

DeviceWork CudaFactory::work(Backend& backend) const {
  const cuda::Statistics done = static_cast<cuda::Backend&>(backend).statistics();
  DeviceWork work;
  work.commands = done.kernel_launches + done.copies + done.host_writes + done.host_reads;
  work.collectives = done.collectives();
  return work;
}

}  // namespace belfry::testing
