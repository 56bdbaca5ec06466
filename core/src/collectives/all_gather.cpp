// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/error.h"
#include "collectives/order_after.h"

#include <algorithm>
#include <utility>

namespace belfry {

std::vector<AnyTensor> CrossDeviceOps::all_gather(std::span<const AnyTensor> parts,
                                                  const detail::Participants& present) {
  std::vector<AnyTensor> own;
  std::vector<AnyTensor> tables;
  tables.reserve(devices_.size());
  std::int64_t total = 0;
  for (const AnyTensor& part : parts) total += part.shape().count();
  for (int part = 0; part < present.count(); ++part) {
    const int device = devices_[static_cast<std::size_t>(present.id(part))];
    own.push_back(parts[static_cast<std::size_t>(part)].copy_to({&backend_, device}));
  }
  for (int device : devices_) {
    tables.push_back(AnyTensor::allocate(own.front().dtype(), Shape{total}, {&backend_, device}));
  }
  const std::int64_t count = own.front().shape().count();
  const bool equal = std::ranges::all_of(
      own, [count](const AnyTensor& part) { return part.shape().count() == count; });
  if (total == 0) return tables;
  if (equal && present.is_all() && gather_natively(own, tables)) return tables;
  for (AnyTensor& table : tables) {
    std::vector<AnyTensor> here;
    here.reserve(own.size());
    for (const AnyTensor& part : own) here.push_back(part.copy_to(table.placement()));
    table = detail::flatten_all(here);
  }
  return tables;
}

// False, with nothing enqueued, when the communicator lacks the element type.
bool CrossDeviceOps::gather_natively(std::span<const AnyTensor> parts,
                                     std::span<const AnyTensor> tables) {
  std::vector<CollectivePart> collective;
  for (std::size_t replica = 0; replica < parts.size(); ++replica) {
    Device& device = backend_.device(devices_[replica]);
    order_after(device.communication_stream(), device.compute_stream(), device);
    collective.push_back(
        {parts[replica].view(), tables[replica].view(), &device.communication_stream()});
  }
  try {
    communicator().all_gather(collective);
  } catch (const UnsupportedError&) {
    return false;
  }
  for (int index : devices_) {
    Device& device = backend_.device(index);
    order_after(device.compute_stream(), device.communication_stream(), device);
  }
  return true;
}

}  // namespace belfry
