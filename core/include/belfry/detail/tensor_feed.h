// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/event.h"
#include "belfry/backend/stream.h"
#include "belfry/tensor.h"

#include <map>
#include <memory>
#include <vector>

namespace belfry::detail {

/// Copies tensors to devices on its own streams, beside the computation there. A device's compute
/// stream waits for a copy at the call of `arrive`: work enqueued earlier does not wait.
class TensorFeed {
 public:
  /// The tensors of a common send. The sources are kept: kept storage is not written in place.
  struct Sent {
    AnyTensor source;
    Placement target;
    std::unique_ptr<Event> copied;
  };
  using Parcel = std::vector<Sent>;

  /// The tensor on `target`, to be used after the parcel has arrived. Order: enqueued.
  AnyTensor send(const AnyTensor& tensor, Placement target, Parcel& parcel);
  /// Order: later work of the compute streams waits for the copies; the host does not.
  static void arrive(const Parcel& parcel);

 private:
  std::map<int, std::unique_ptr<Stream>> streams_;  // By device of the backend.
};

}  // namespace belfry::detail
