// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy_reductions.h"
#include "belfry/detail/tensor/axis.h"
#include "collectives/run_in_order.h"

#include <cstddef>
#include <cstdint>

namespace belfry::detail {
namespace {

std::int64_t count_of(const AnyTensor& part) { return part.shape().count(); }

// Copies of all parts on the device of `place`, one after another in a vector.
AnyTensor gathered_by_copies(std::span<const AnyTensor> parts, Placement place) {
  std::vector<AnyTensor> here;
  here.reserve(parts.size());
  for (const AnyTensor& part : parts) here.push_back(part.copy_to(place));
  return flatten_all(here);
}

}  // namespace

std::vector<AnyTensor> StrategyReductions::all_gather(std::span<const AnyTensor> parts,
                                                      const Participants& present) {
  std::vector<AnyTensor> own;
  own.reserve(parts.size());
  std::int64_t total = 0;
  for (int part = 0; part < present.count(); ++part) {
    const AnyTensor& given = parts[static_cast<std::size_t>(part)];
    own.push_back(given.copy_to({&devices_.backend(), devices_.index(present.id(part))}));
    total += count_of(given);
  }
  std::vector<AnyTensor> tables;
  const bool is_of_group = is_group(present);
  const Participants& receivers = is_of_group ? present : own_;
  tables.reserve(static_cast<std::size_t>(receivers.count()));
  for (int i = 0; i < receivers.count(); ++i) {
    const Placement place{&devices_.backend(), devices_.index(receivers.id(i))};
    tables.push_back(AnyTensor::allocate(own.front().dtype(), Shape{total}, place));
  }
  if (total > 0) {
    const bool is_collective = is_of_group || present.is_all();
    ReplicaDevices& devices = joined_by(present);
    if (is_collective && devices.communicator() != nullptr) {
      gather_natively(devices, own, tables);
    } else {
      for (AnyTensor& table : tables) table = gathered_by_copies(own, table.placement());
    }
  }
  return tables;
}

void StrategyReductions::gather_natively(ReplicaDevices& devices, std::span<const AnyTensor> parts,
                                         std::span<const AnyTensor> tables) {
  std::vector<CollectivePart> collective;
  collective.reserve(parts.size());
  std::vector<std::size_t> counts;
  for (int replica = 0; replica < devices.size(); ++replica) {
    const auto place = static_cast<std::size_t>(replica);
    collective.push_back({parts[place].view(), tables[place].view(),
                          &devices.device(replica).communication_stream()});
    counts.push_back(parts[place].view().count);
  }
  run_in_order(*devices.communicator(),
               {.kind = CollectiveKind::kAllGather, .parts = collective, .counts = counts});
}

}  // namespace belfry::detail
