// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Errors of streams and communicators in a program with watched code: each names the line of the
// call.
#include "belfry/belfry.h"
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::caller_scope_test {
namespace {

using ::testing::HasSubstr;

BufferView numbers(Device& device, std::size_t count, DType dtype = DType::kFloat32) {
  return view_of(device.allocate(count * 4, device.compute_stream()), dtype);
}

BufferView part_of(BufferView view, std::size_t begin, std::size_t count) {
  view.offset += begin * 4;
  view.count = count;
  return view;
}

std::string text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string place(int line) { return "caller_scope_test.cpp:" + std::to_string(line); }

TEST(CallerScope, NamesTheReadOfAStream) {
  Backend backend{{.devices = 1}};
  Stream& stream = backend.device(0).compute_stream();
  const BufferView view = numbers(backend.device(0), 1);
  float value = 0;
  const int line = __LINE__ + 1;
  EXPECT_THAT(text_of([&] { stream.read(&value, view); }), HasSubstr("\n  at " + place(line)));
}

TEST(CallerScope, NamesTheCallOfACommunicator) {
  Backend backend{{.devices = 1}};
  const auto communicator = backend.communicator(std::array{0});
  const BufferView whole = numbers(backend.device(0), 4);
  const std::vector<CollectivePart> overlaps{
      {part_of(whole, 1, 2), part_of(whole, 0, 2), &backend.device(0).compute_stream()}};
  const int line = __LINE__ + 1;
  EXPECT_THAT(
      text_of([&] { communicator->run({.kind = CollectiveKind::kAllGather, .parts = overlaps}); }),
      HasSubstr(place(line)));
  const int second = __LINE__ + 1;
  EXPECT_THAT(text_of([&] { communicator->run({.kind = CollectiveKind::kAllGather}); }),
              HasSubstr(place(second)));
}

Kernel row_of(const BufferView& table, const BufferView& index, const BufferView& row) {
  Kernel kernel;
  kernel.kind = KernelKind::kGatherRows;
  kernel.parameters.rows = 1;
  kernel.parameters.columns = 1;
  kernel.inputs = {index, table};
  kernel.outputs = {row};
  return kernel;
}

TEST(CallerScope, NamesTheLaunchOfWorkThatFails) {
  Backend backend{{.devices = 1}};
  Device& device = backend.device(0);
  Stream& stream = device.compute_stream();
  const BufferView table = numbers(device, 1);
  const BufferView index = numbers(device, 1, DType::kInt32);
  const float one = 1;
  const std::int32_t outside = 1;
  stream.write(table, &one);
  stream.write(index, &outside);
  Kernel kernel = row_of(table, index, numbers(device, 1));
  const int line = __LINE__ + 1;
  stream.launch(std::move(kernel));
  EXPECT_THAT(text_of([&] { stream.synchronize(); }), HasSubstr(place(line)));
}

TEST(CallerScope, NamesARefusedLaunch) {
  Backend backend{{.devices = 1}};
  Stream& stream = backend.device(0).compute_stream();
  const int line = __LINE__ + 1;
  EXPECT_THAT(text_of([&] { stream.launch(row_of({}, {}, {})); }), HasSubstr(place(line)));
}

// The line tables are read on the stack of the replica.
TEST(CallerScope, FitsTheLeastStackOfAReplica) {
  Backend backend{{.devices = 2, .stack_bytes = kLeastStackBytes}};
  MirroredStrategy strategy{backend};
  int line = 0;
  const std::string text = text_of([&] {
    strategy.run([&](ReplicaContext& replica) {
      Device& device = backend.device(replica.replica_id());
      const BufferView view = numbers(device, 1);
      float value = 0;
      line = __LINE__ + 1;
      device.compute_stream().read(&value, view);
    });
  });
  EXPECT_THAT(text, HasSubstr(place(line)));
}

TEST(CallerScope, KeepsTheSiteOfAVerbAroundTheCall) {
  Backend backend{{.devices = 1}};
  Stream& stream = backend.device(0).compute_stream();
  const BufferView view = numbers(backend.device(0), 1);
  float value = 0;
  const detail::SiteScope verb({"verb.cpp", 7});
  EXPECT_THAT(text_of([&] { stream.read(&value, view); }), HasSubstr("\n  at verb.cpp:7"));
}

}  // namespace
}  // namespace belfry::sim::caller_scope_test
