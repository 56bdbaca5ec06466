// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "communicator.h"

#include "hybrid_clique.h"
#include "local_clique.h"
#include "nccl_clique.h"

#include <set>

namespace belfry::cuda {

std::unique_ptr<Communicator> make_communicator(const std::shared_ptr<SharedState>& shared,
                                                std::vector<Device*> devices) {
  std::set<int> gpus;
  for (const Device* device : devices) gpus.insert(device->gpu());
  // NCCL is not used for a single member: a communicator of NCCL would take memory without a use.
  if (gpus.size() == 1) {
    return std::make_unique<LocalClique>(shared, std::move(devices));
  }
  if (gpus.size() == devices.size()) {
    return std::make_unique<NcclClique>(shared, devices);
  }
  return std::make_unique<HybridClique>(shared, std::move(devices));
}

}  // namespace belfry::cuda
