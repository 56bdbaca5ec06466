// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/stream_point.h"
#include "belfry/detail/tensor/any_tensor.h"

#include <set>
#include <vector>

namespace belfry::detail {

/// The work of devices with some tensors.
struct DeviceWork {
  std::set<int> devices;               ///< With one of the tensors; indices in the backend.
  std::vector<StreamPointPtr> others;  ///< The ends of pending work of other streams.

  void add(const AnyTensor& tensor);
};

}  // namespace belfry::detail
