// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/device.h"
#include "belfry/detail/dataset_reader.h"

#include <utility>

namespace belfry::detail {
namespace {

void order_after(Stream& later, Stream& earlier) {
  const auto done = earlier.device().create_event();
  earlier.record(*done);
  later.wait(*done);
}

}  // namespace

// The memory belongs to the compute stream, and is freed in stream order. The copy waits for the
// present work of the compute stream and for the source. Neither stream waits for the copy yet.
AnyTensor TensorFeed::send(const AnyTensor& tensor, Placement target, Parcel& parcel) {
  if (tensor.empty() || target == tensor.placement()) return tensor;
  if (target.backend != tensor.placement().backend || tensor.view().count == 0) {
    return tensor.copy_to(target);
  }
  Device& to = device_of(target);
  std::unique_ptr<Stream>& stream = streams_[target.device];
  if (stream == nullptr) stream = to.create_stream();
  AnyTensor copy = AnyTensor::allocate(tensor.dtype(), tensor.shape(), target);
  order_after(*stream, to.compute_stream());
  order_after(*stream, device_of(tensor.placement()).compute_stream());
  stream->copy(copy.view(), tensor.view());
  auto copied = to.create_event();
  stream->record(*copied);
  parcel.push_back({tensor, target, std::move(copied)});
  return copy;
}

void TensorFeed::arrive(const Parcel& parcel) {
  for (const Sent& sent : parcel) {
    device_of(sent.target).compute_stream().wait(*sent.copied);
    device_of(sent.source.placement()).compute_stream().wait(*sent.copied);
  }
}

}  // namespace belfry::detail
