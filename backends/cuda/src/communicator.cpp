// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "communicator.h"

#include "belfry/error.h"
#include "hybrid_clique.h"
#include "local_clique.h"
#include "nccl_clique.h"

#include <algorithm>
#include <set>

namespace belfry::cuda {

namespace {

std::unique_ptr<Clique> make_clique(const std::shared_ptr<SharedState>& shared,
                                    std::vector<Device*> devices) {
  // NCCL and the kernels of cliques take memory of GPUs.
  if (devices.size() > 1 && std::ranges::any_of(devices, &Device::is_host)) {
    throw UnsupportedError(ErrorCode::kUnsupported, "a communicator of GPUs and the host",
                           "name GPUs alone: strategies then reduce by copies and kernels");
  }
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

}  // namespace

std::unique_ptr<Communicator> make_communicator(const std::shared_ptr<SharedState>& shared,
                                                const std::vector<Device*>& devices) {
  std::unique_ptr<Clique> clique = make_clique(shared, devices);
  detail::FlightGroup group{.about = "communicator"};
  const bool is_local = dynamic_cast<const LocalClique*>(clique.get()) != nullptr;
  group.carrier = is_local ? "cuda" : "nccl";
  for (const Device* device : devices) group.own.push_back(device->index());
  clique->record(group);
  return clique;
}

}  // namespace belfry::cuda
