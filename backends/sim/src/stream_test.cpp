// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace belfry::sim::stream_test {
namespace {

using belfry::testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Numbers = std::vector<std::int32_t>;

// Two devices under the laziest schedule: nothing runs before somebody waits.
class StreamTest : public ::testing::Test {
 protected:
  BufferView make(int device, const Numbers& numbers) {
    Stream& stream = backend_.device(device).compute_stream();
    BufferView view = empty(device, numbers.size());
    stream.write(view, numbers.data());
    stream.synchronize();
    return view;
  }
  BufferView empty(int device, std::size_t count) {
    Device& on = backend_.device(device);
    return view_of(on.allocate(count * 4, on.compute_stream()), DType::kInt32);
  }
  Numbers read(Stream& stream, const BufferView& view) {
    Numbers numbers(view.count);
    stream.read(numbers.data(), view);
    return numbers;
  }
  Stream& stream(int device) { return backend_.device(device).compute_stream(); }

  Backend backend_{{.devices = 2, .schedule = Schedule::fixed()}};
};

Kernel fill(const BufferView& out, std::int64_t value) {
  Kernel kernel;
  kernel.kind = KernelKind::kFill;
  kernel.parameters.integer_scalar = value;
  kernel.outputs = {out};
  return kernel;
}

Kernel add(const BufferView& out, const BufferView& left, const BufferView& right) {
  Kernel kernel;
  kernel.kind = KernelKind::kBinary;
  kernel.outputs = {out};
  kernel.inputs = {left, right};
  return kernel;
}

TEST_F(StreamTest, ScatterAddReadsWhatItAddsTo) {
  const BufferView index = make(0, {0, 0});
  const BufferView rows = make(0, {1, 2});
  const BufferView table = empty(0, 1);
  Kernel kernel;
  kernel.kind = KernelKind::kScatterRows;
  kernel.parameters.rows = 2;
  kernel.parameters.columns = 1;
  kernel.outputs = {table};
  kernel.inputs = {index, rows};
  stream(0).launch(kernel);
  EXPECT_EQ(code_of([&] { stream(0).synchronize(); }), ErrorCode::kUninitialised);
  stream(0).launch(fill(table, 10));
  stream(0).launch(kernel);
  EXPECT_THAT(read(stream(0), table), ElementsAre(13));
}

// The table of a scatter is its output, and a row has as many elements as there are columns.
TEST_F(StreamTest, AnIndexWithoutARowCountsTheRowsOfItsTable) {
  const BufferView index = make(0, {4});
  const BufferView rows = make(0, {1, 2, 3});
  const BufferView table = make(0, {0, 0, 0, 0, 0, 0});
  Kernel kernel;
  kernel.kind = KernelKind::kScatterRows;
  kernel.parameters.rows = 1;
  kernel.parameters.columns = 3;
  kernel.outputs = {table};
  kernel.inputs = {index, rows};
  stream(0).launch(kernel);
  try {
    stream(0).synchronize();
    FAIL() << "row 4 of 2 was found";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("indices[0] is 4, and the table has 2 rows"));
  }
}

TEST_F(StreamTest, AnUninitialisedInputNamesKernelStreamBufferAndBytes) {
  belfry::testing::asserts("SEM-73");
  const auto further = backend_.device(1).create_stream();
  const BufferView three = make(1, {1, 2, 3});
  further->launch(add(three, three, empty(1, 3)));
  try {
    further->synchronize();
    FAIL() << "a sum of nothing was accepted";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("add on S18 (device 1 stream 2) reads bytes [0, 12) of buffer 1 of "
                          "device 1 (12 bytes), which nobody"));
  }
  EXPECT_THAT(read(stream(1), three), ElementsAre(1, 2, 3));
}

TEST_F(StreamTest, StreamsHaveNumbersThatDependOnTheirDeviceAlone) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(backend_.device(1).create_stream());
  const BufferView a = empty(1, 1);
  streams[0]->launch(fill(a, 1));
  streams[0]->synchronize();
  // 16 to a device, two of which the device itself uses.
  EXPECT_EQ(backend_.log().records().back().agent(), (AgentId{AgentId::Kind::kStream, 18}));
  streams[19]->launch(fill(a, 1));
  streams[19]->synchronize();
  EXPECT_EQ(backend_.log().records().back().agent(), (AgentId{AgentId::Kind::kStream, 37}));
}

}  // namespace
}  // namespace belfry::sim::stream_test
