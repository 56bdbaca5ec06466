// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tensors over memory of the program's own in the host half of the backend, on the simulated
// driver.
#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/dlpack.h"
#include "belfry/launch.h"
#include "belfry/sim/driver.h"
#include "belfry/tensor_ops.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace belfry::cuda::foreign_memory_test {
namespace {

using test::code_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// y += scale * x.
struct ScaleAndAdd {
  float scale = 1;
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += scale * x[i];
  }
};

// Memory of GPU `gpu` with `values`, freed at the end of the last owner.
std::shared_ptr<float> on_gpu(int gpu, const std::vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  void* memory = nullptr;
  EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
  return {static_cast<float*>(memory), [](float* own) { EXPECT_EQ(cudaFree(own), cudaSuccess); }};
}

// Work holds the owner, also work on the home stream, and no reference to the buffer: the tensor is
// never shared with work.
TEST(ForeignMemory, IsKeptByWorkAndSharedByHandlesAlone) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    {
      Backend backend;
      const Placement on{&backend, 0};
      const auto mine = on_gpu(0, {1, 2});
      const auto last = backend.device(0).create_event();
      bool is_done = false;
      std::shared_ptr<const void> owner(static_cast<const void*>(mine.get()),
                                        [&](const void*) { is_done = last->query(); });
      const std::weak_ptr<const void> alive = owner;
      auto y = Tensor<float>::over({2}, std::span(mine.get(), 2), on, std::move(owner));
      // The work of this device waits for much work of a second device.
      auto slow = Tensor<float>::full({2}, 1, Placement{&backend, 1});
      for (int step = 0; step < 20; ++step) add_to(slow, slow);
      const auto late = slow.copy_to(on);
      for (int step = 0; step < 3; ++step) launch(ScaleAndAdd{1}, updates(y), reads(y));
      const auto away = y.copy_to({&backend, 1});
      launch(ScaleAndAdd{1}, updates(y), reads(y));
      backend.device(0).compute_stream().record(*last);
      y = Tensor<float>();
      EXPECT_THAT(away.to_host(), ElementsAre(8, 16));
      for (int device : {0, 1}) backend.device(device).compute_stream().synchronize();
      EXPECT_TRUE(alive.expired());
      EXPECT_TRUE(is_done) << "the owner is released after the work";
    }
    EXPECT_THAT(machine.reports(), IsEmpty());
    EXPECT_THAT(machine.alive(), IsEmpty());
  }
}

TEST(ForeignMemory, BelongsToItsDevice) {
  const sim::SimulatedDriver machine({.gpus = 2});
  {
    Backend backend;
    const auto over = [&](float* memory, int device) {
      return Tensor<float>::over({2}, std::span(memory, 2), Placement{&backend, device});
    };
    const auto mine = on_gpu(1, {1, 2});
    std::vector<float> pageable(2);
    void* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(&pinned, 8), cudaSuccess);
    auto* const of_host = static_cast<float*>(pinned);
    of_host[0] = of_host[1] = 4;
    EXPECT_THAT(over(mine.get(), 1).to_host(), ElementsAre(1, 2));
    EXPECT_THAT(over(of_host, 2).to_host(), ElementsAre(4, 4)) << "the host follows the GPUs";
    for (const auto& [memory, device] : std::vector<std::pair<float*, int>>{{mine.get(), 0},
                                                                            {mine.get(), 2},
                                                                            {of_host, 0},
                                                                            {pageable.data(), 0},
                                                                            {pageable.data(), 2}}) {
      EXPECT_EQ(code_of([&] { over(memory, device); }), ErrorCode::kForeignObject);
    }
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  }
  EXPECT_THAT(machine.reports(), IsEmpty());
}

// The producer's copy, belfry's kernels and the consumer's copy are on streams of their own.
TEST(ForeignMemory, IsOrderedWithStreamsOfProducersAndConsumers) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
    {
      cudaStream_t stream = nullptr;
      ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
      const auto number = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(stream));
      const auto mine = on_gpu(0, {0, 0});
      const auto values = on_gpu(0, {1, 2});
      ASSERT_EQ(cudaMemcpyAsync(mine.get(), values.get(), 8, cudaMemcpyDeviceToDevice, stream),
                cudaSuccess);
      std::int64_t shape[] = {2};
      dlpack::ManagedTensor managed;
      managed.dl_tensor = {.data = mine.get(),
                           .device = {dlpack::kCuda, 0},
                           .ndim = 1,
                           .dtype = {dlpack::kFloat, 32, 1},
                           .shape = shape};
      Backend backend;  // Releases the producer's memory at its end, at the latest.
      const Placement on{&backend, 0};
      auto x = from_dlpack<float>(&managed, number, DlpackCopy::kNever, on);
      add_to(x, x);
      DlpackPtr out = to_dlpack(std::move(x), number);
      EXPECT_EQ(out->flags, 0U);
      EXPECT_EQ(out->dl_tensor.data, mine.get());
      EXPECT_EQ(out->dl_tensor.device.device_type, dlpack::kCuda);
      std::vector<float> seen(2);
      ASSERT_EQ(
          cudaMemcpyAsync(seen.data(), out->dl_tensor.data, 8, cudaMemcpyDeviceToHost, stream),
          cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      EXPECT_THAT(seen, ElementsAre(2, 4));
      ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    }
    EXPECT_THAT(machine.reports(), IsEmpty());
    EXPECT_THAT(machine.alive(), IsEmpty());
  }
}

// The twins that copy are controls: the same counters see a copy and an allocation.
TEST(ForeignMemory, IsWrappedAndExportedWithoutACopy) {
  constexpr std::int64_t kLength = 1000;
  const sim::SimulatedDriver machine({.gpus = 1});
  {
    Backend backend;
    const Placement on{&backend, 0};
    const std::vector<float> values(kLength, 2);
    const auto mine = on_gpu(0, values);
    const std::span<float> memory(mine.get(), kLength);
    // Allocations, copies between device memories and writes of the host.
    const auto costs_of = [&](const std::function<void()>& call) {
      const Statistics before = backend.statistics();
      call();
      const Statistics after = backend.statistics();
      return std::array{after.allocations - before.allocations,
                        after.copy.calls - before.copy.calls,
                        after.write.calls - before.write.calls};
    };
    const auto shared = Tensor<float>::full({kLength}, 1, on);
    EXPECT_THAT(costs_of([&] {
                  auto x = Tensor<float>::over({kLength}, memory, on);
                  launch(ScaleAndAdd{1}, updates(x), reads(x));
                  DlpackPtr out = to_dlpack(std::move(x));
                  EXPECT_EQ(out->dl_tensor.data, mine.get());
                  const auto back =
                      from_dlpack<float>(out.release(), std::nullopt, DlpackCopy::kNever, on);
                  EXPECT_EQ(back.to_host(), std::vector<float>(kLength, 4));
                }),
                ElementsAre(0, 0, 0));
    EXPECT_THAT(costs_of([&] { Tensor<float>::from({kLength}, std::span(values), on); }),
                ElementsAre(1, 0, 1));
    EXPECT_THAT(costs_of([&] { EXPECT_EQ(to_dlpack(shared)->flags, dlpack::kIsCopied); }),
                ElementsAre(1, 1, 0));
  }
  EXPECT_THAT(machine.reports(), IsEmpty());
  EXPECT_THAT(machine.alive(), IsEmpty());
}

// Work in flight on the stream of a second device is no handle, however far the device is.
TEST(ForeignMemory, IsExportedWithoutACopyWhateverTheDevicesDo) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    {
      Backend backend;
      auto x = Tensor<float>::full({2}, 3, Placement{&backend, 0});
      auto slow = Tensor<float>::full({2}, 1, Placement{&backend, 1});
      for (int step = 0; step < 20; ++step) add_to(slow, slow);
      const auto away = x.copy_to({&backend, 1});  // Waits for the work before.
      const void* const address = x.any().view().buffer->address();
      const DlpackPtr out = to_dlpack(std::move(x));
      EXPECT_EQ(out->flags, 0U);
      EXPECT_EQ(out->dl_tensor.data, address);
      EXPECT_THAT(away.to_host(), ElementsAre(3, 3));
    }
    EXPECT_THAT(machine.reports(), IsEmpty());
    EXPECT_THAT(machine.alive(), IsEmpty());
  }
}

}  // namespace
}  // namespace belfry::cuda::foreign_memory_test
