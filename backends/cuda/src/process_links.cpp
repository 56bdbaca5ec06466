// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "process_links.h"

#include "belfry/error.h"
#include "check.h"
#include "hybrid_clique.h"
#include "nccl_clique.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace belfry::cuda {
namespace {

// The beginning of an offer. The number of each device's GPU in the process follows.
struct OfferHead {
  ncclUniqueId id{};
  std::int32_t leads = 0;
  std::int32_t warms_up = 0;
  std::int32_t devices = 0;
};

struct Offer {
  OfferHead head;
  std::vector<std::int32_t> gpus;

  // The number of each device's GPU among the GPUs of the process, in the order of their leaders.
  std::vector<int> leaders() const {
    std::vector<std::int32_t> seen;
    std::vector<int> numbers;
    for (const std::int32_t gpu : gpus) {
      const auto place = std::ranges::find(seen, gpu);
      numbers.push_back(static_cast<int>(place - seen.begin()));
      if (place == seen.end()) seen.push_back(gpu);
    }
    return numbers;
  }
};

Offer read(std::span<const std::byte> bytes) {
  Offer offer;
  if (bytes.empty()) return offer;  // A process without devices.
  check(bytes.size() >= sizeof offer.head, "the length of an offer");
  std::memcpy(&offer.head, bytes.data(), sizeof offer.head);
  const auto devices = static_cast<std::size_t>(offer.head.devices);
  check(bytes.size() == sizeof offer.head + devices * sizeof(std::int32_t),
        "the length of an offer");
  offer.gpus.resize(devices);
  std::memcpy(offer.gpus.data(), bytes.data() + sizeof offer.head, devices * sizeof(std::int32_t));
  return offer;
}

// The ranks in the offers of all processes, as the process sees the ranks.
HybridClique::Span span_of(const ProcessJoin& all) {
  HybridClique::Span span;
  span.leaders.peers.health = all.health;
  bool has_id = false;
  for (std::size_t process = 0; process < all.offers.size(); ++process) {
    if (static_cast<int>(process) == all.process) {
      span.ranks.first = span.ranks.size;
      span.leaders.first = span.leaders.size;
    }
    const Offer offer = read(all.offers[process]);
    if (offer.gpus.empty()) continue;
    if (offer.head.leads != 0 && !has_id) span.leaders.id = offer.head.id;
    has_id = has_id || offer.head.leads != 0;
    span.warm_up = span.warm_up && offer.head.warms_up != 0;
    const std::vector<int> leaders = offer.leaders();
    for (const int leader : leaders) span.leader_of.push_back(span.leaders.size + leader);
    span.leaders.size += *std::ranges::max_element(leaders) + 1;
    span.ranks.size += static_cast<int>(leaders.size());
  }
  check(has_id, "the offer of the process that leads");
  return span;
}

}  // namespace

std::vector<std::byte> offer_of(const SharedState& shared, const std::vector<Device*>& devices,
                                bool leads) {
  if (std::ranges::any_of(devices, &Device::is_host)) {
    throw UnsupportedError(ErrorCode::kUnsupported, "NCCL joins GPUs, and not the host",
                           "name GPUs alone: tensors then stay on the GPUs");
  }
  OfferHead head;
  std::vector<std::int32_t> gpus;
  for (const Device* device : devices) gpus.push_back(device->gpu());
  if (shared.options.launches_block &&
      std::ranges::any_of(gpus, [&](std::int32_t gpu) { return gpu != gpus.front(); })) {
    throw UnsupportedError(ErrorCode::kUnsupported,
                           "CUDA_LAUNCH_BLOCKING=1 with several GPUs in one process",
                           "unset it, or use one GPU in each process");
  }
  if (leads) BELFRY_NCCL_TRY(ncclGetUniqueId(&head.id));
  head.leads = leads ? 1 : 0;
  head.warms_up = shared.options.warm_up ? 1 : 0;
  head.devices = static_cast<std::int32_t>(gpus.size());
  std::vector<std::byte> bytes(sizeof head + gpus.size() * sizeof(std::int32_t));
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!gpus.empty()) {
    std::memcpy(bytes.data() + sizeof head, gpus.data(), gpus.size() * sizeof(std::int32_t));
  }
  return bytes;
}

std::unique_ptr<Communicator> join_processes(const std::shared_ptr<SharedState>& shared,
                                             const std::vector<Device*>& devices,
                                             const ProcessJoin& all) {
  HybridClique::Span span = span_of(all);
  const std::chrono::milliseconds work = shared->options.work_deadline;
  span.leaders.peers.deadline =
      work.count() == 0 ? shared->options.deadline : std::min(work, shared->options.deadline);
  // Every process makes the same kind of clique: the rank of a device is then its rank of NCCL.
  const int size = span.ranks.size;
  std::unique_ptr<Clique> clique;
  if (span.leaders.size == size) {
    clique = std::make_unique<NcclClique>(shared, devices, span.leaders, span.warm_up);
  } else {
    clique = std::make_unique<HybridClique>(shared, devices, std::move(span));
  }
  const std::span<const int> own = clique->local_ranks();
  clique->record({.about = "communicator",
                  .carrier = "nccl",
                  .own = {own.begin(), own.end()},
                  .size = size,
                  .process = all.process,
                  .processes = static_cast<int>(all.offers.size())});
  return clique;
}

}  // namespace belfry::cuda
