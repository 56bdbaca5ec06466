// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cuda/backend.h"
#include "belfry/testing/backend_factory.h"

namespace belfry::testing {

/// Makes CUDA backends whose devices share the machine's GPUs, neighbours together.
class CudaFactory : public BackendFactory {
 public:
  /// Devices to a GPU; 0: all on one.
  explicit CudaFactory(int devices_per_gpu) : devices_per_gpu_(devices_per_gpu) {}

  std::string_view name() const override { return "cuda"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override;
  DeviceWork work(Backend& backend) const override;
  /// There is no replay: threads run as they like.
  std::string replay_token(Backend& /*backend*/) const override { return {}; }

 private:
  int devices_per_gpu_;
};

}  // namespace belfry::testing
