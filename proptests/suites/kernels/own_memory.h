// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/dlpack.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace belfry::testing {

/// Memory of the program for tensors on a device, whatever the backend: a vector, if the device
/// uses memory of the host; else memory of the device, which the backend has lent by DLPack.
/// Ends before the backend.
template <Element T>
class OwnMemory {
 public:
  OwnMemory(Placement on, const std::vector<T>& values)
      : on_(on), shape_({static_cast<std::int64_t>(values.size())}) {
    DlpackPtr lent = to_dlpack(Tensor<T>::from(shape_, values, on));
    if (lent->dl_tensor.device.device_type == dlpack::kCpu) {
      const auto own = std::make_shared<std::vector<T>>(values);
      memory_ = *own;
      owner_ = own;
    } else {
      memory_ = {static_cast<T*>(lent->dl_tensor.data), values.size()};
      owner_ = std::shared_ptr<const dlpack::ManagedTensorVersioned>(std::move(lent));
    }
  }

  /// A tensor over the memory, which shares the owner.
  Tensor<T> over() const { return Tensor<T>::over(shape_, memory_, on_, owner_); }
  /// The same with const elements.
  Tensor<T> over_const() const {
    return Tensor<T>::over(shape_, std::span<const T>(memory_), on_, owner_);
  }
  /// The elements. After a host wait for all work with the memory.
  std::vector<T> values() const {
    return Tensor<T>::over(shape_, std::span<const T>(memory_), on_).to_host();
  }
  /// Whether no tensor and no work shares the owner. After a host wait for the work.
  bool is_released() const { return owner_.use_count() == 1; }

 private:
  Placement on_;
  Shape shape_;
  std::span<T> memory_;
  std::shared_ptr<const void> owner_;  // Shared with tensors over the memory.
};

/// Waits for all streams of a backend, and passes over the failures that the streams tell. Returns
/// the number of failures.
inline int hear_of_failures(Backend& backend) {
  constexpr int kMostFailures = 16;  // Of a stream.
  int failures = 0;
  for (int device = 0; device < backend.device_count(); ++device) {
    Device& one = backend.device(device);
    for (Stream* stream : {&one.communication_stream(), &one.compute_stream()}) {
      for (int wait = 0; wait < kMostFailures; ++wait) {
        try {
          stream->synchronize();
          break;
        } catch (...) {  // A body throws any type.
          failures += 1;
        }
      }
    }
  }
  return failures;
}

}  // namespace belfry::testing
