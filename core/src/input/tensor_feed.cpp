// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/access_order.h"
#include "belfry/backend/device.h"
#include "belfry/detail/dataset_reader.h"
#include "collectives/order_after.h"

#include <memory>

namespace belfry::detail {

// The memory belongs to the compute stream, and is freed in stream order. The copy waits for the
// present work of the compute stream and for the source.
AnyTensor TensorFeed::send(const AnyTensor& tensor, Placement target) {
  if (tensor.empty() || target == tensor.placement()) return tensor;
  if (target.backend != tensor.placement().backend || tensor.view().count == 0) {
    return tensor.copy_to(target);
  }
  Device& to = device_of(target);
  Device& from = device_of(tensor.placement());
  std::unique_ptr<Stream>& stream = streams_[target.device];
  if (stream == nullptr) stream = to.create_stream();
  AnyTensor copy = AnyTensor::allocate(tensor.dtype(), tensor.shape(), target);
  const auto copied = std::make_shared<StreamPoint>(to);
  order_after(*stream, to.compute_stream(), to);
  order_after(*stream, from.compute_stream(), from);
  copy_in_order(*stream, copy.view(), tensor.view());
  copied->set(*stream);
  leave_write(copy.view(), copied);
  leave_read(tensor.view(), copied);
  return copy;
}

}  // namespace belfry::detail
