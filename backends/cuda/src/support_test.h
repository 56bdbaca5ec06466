// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/testing/code_of.h"

#include <cstdint>
#include <numeric>
#include <vector>

/// Shared by the tests of this folder.
namespace belfry::cuda::test {

using belfry::testing::code_of;

constexpr int kLaunchFailure = 719;  // cudaErrorLaunchFailure
constexpr int kSystemError = 2;      // ncclSystemError

inline std::vector<int> first_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Enqueues work on the memory of each stream of `device`, and waits for none.
inline void fill_on_each_stream(belfry::Device& device) {
  for (belfry::Stream* stream : {&device.compute_stream(), &device.communication_stream()}) {
    Kernel fill;
    fill.outputs = {view_of(device.allocate(4, *stream), DType::kFloat32)};
    stream->launch(fill);
  }
}

/// A float for each device, in place, on its communication stream after the write.
struct Members {
  explicit Members(Backend& backend, float first = 1.0F) {
    for (int rank = 0; rank < backend.device_count(); ++rank) {
      belfry::Device& device = backend.device(rank);
      belfry::Stream& stream = device.communication_stream();
      const BufferView view = view_of(device.allocate(sizeof(float), stream), DType::kFloat32);
      const float value = first + static_cast<float>(rank);
      stream.write(view, &value);
      parts.push_back({view, view, &stream});
    }
  }

  float value(std::size_t rank) const {
    float result = 0;
    parts[rank].stream->read(&result, parts[rank].output);
    return result;
  }

  std::vector<CollectivePart> parts;
};

}  // namespace belfry::cuda::test
