// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/error.h"

#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <string>

// Linked with the real CUDA and NCCL. On a machine without a driver or a GPU, the error names the
// missing part. On a machine with a GPU, a program computes.
namespace belfry::cuda::real_libraries_test {
namespace {

bool has_gpu() {
  int gpus = 0;
  const bool counted = cudaGetDeviceCount(&gpus) == cudaSuccess;
  static_cast<void>(cudaGetLastError());
  return counted && gpus > 0;
}

void add_on_the_gpu() {
  Backend backend{{.devices = {0, 0}}};
  std::vector<CollectivePart> parts;
  for (int rank = 0; rank < 2; ++rank) {
    belfry::Device& device = backend.device(rank);
    belfry::Stream& stream = device.compute_stream();
    const BufferView view = view_of(device.allocate(sizeof(float), stream), DType::kFloat32);
    const float value = 1.5F + static_cast<float>(rank);
    stream.write(view, &value);
    parts.push_back({view, view, &stream});
  }
  const int both[] = {0, 1};
  backend.communicator(both)->run({.kind = CollectiveKind::kAllReduce, .parts = parts});
  float sum = 0;
  parts[1].stream->read(&sum, parts[1].output);
  EXPECT_EQ(sum, 4.0F);
}

TEST(RealLibraries, ComputeOrSayWhatIsMissing) {
  if (has_gpu()) return add_on_the_gpu();
  try {
    const Backend backend;
    FAIL() << "there is no GPU";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoDriver);
    EXPECT_NE(std::string(error.what()).find("no GPU for CUDA"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("or on the simulator"), std::string::npos);
    RecordProperty("message", error.what());
  }
}

}  // namespace
}  // namespace belfry::cuda::real_libraries_test
