// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What the reference systems do with the names of devices, a test for each row of the catalogue.
#include "belfry/backend/host_backend.h"
#include "belfry/dataset.h"
#include "belfry/device_spec.h"
#include "belfry/distributed_dataset.h"
#include "belfry/error.h"
#include "belfry/input_context.h"
#include "belfry/mirrored_strategy.h"

#include <gtest/gtest.h>

#include <string>

namespace belfry {
namespace {

DeviceSpec spec(const char* text) { return DeviceSpec::parse(text); }
DeviceSpec spec(const char* text, const char* defaults) {
  return DeviceSpec::parse(text, DeviceSpec::parse(defaults));
}

TEST(Conformance, DEV_01_FourSpellingsAreOneDevice) {
  for (const char* text : {"", "/device:CPU:0", "/cpu:0", "/CPU:0"}) {
    EXPECT_EQ(to_string(spec(text)), "/job:localhost/replica:0/task:0/device:CPU:0") << text;
  }
}

TEST(Conformance, DEV_02_TheLongFormIsInUpperCase) {
  EXPECT_THROW(spec("/device:cpu:0"), InvalidArgumentError);
}

TEST(Conformance, DEV_04_MissingFieldsComeFromADefault) {
  EXPECT_EQ(spec("/job:worker/task:1/cpu:0", "/gpu:0"), spec("/job:worker/task:1/device:CPU:0"));
  EXPECT_EQ(spec("/job:worker/task:1", "/gpu:0"), spec("/job:worker/task:1/device:GPU:0"));
  EXPECT_EQ(spec("/cpu:0", "/job:worker"), spec("/job:worker/task:0/device:CPU:0"));
}

TEST(Conformance, DEV_05_TheDefaultMayComeFromOutside) {
  EXPECT_EQ(spec("/job:worker/task:1/cpu:0", "/gpu:0").type, "CPU");
  EXPECT_EQ(spec("/job:worker/task:1", "/gpu:0").type, "GPU");
  EXPECT_EQ(to_string(spec("/cpu:0", "/job:worker")), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST(Conformance, DEV_06_FieldsMergeAndTheInnerOnesWin) {
  EXPECT_EQ(spec("/cpu:0", "/job:worker"), spec("/job:worker/device:CPU:0"));
  EXPECT_EQ(spec("/gpu:0", "/cpu:0").type, "GPU");
}

// Overridden: a strategy knows its own machine; an input context counts all workers' replicas.
TEST(Conformance, DEV_08_WorkersTimesDevicesAreInSync) {
  for (const int devices : {1, 3}) {
    for (const int worker : {0, 1}) {
      HostBackend backend(devices);
      MirroredStrategy strategy(backend);
      InputContext told;
      const auto input = [&](const InputContext& context) {
        told = context;
        return Dataset<int>::range(2);
      };
      strategy.distribute_datasets_from_function(
          input, {.end_of_data = EndOfData::kDropPartialStep, .num_workers = 2, .worker = worker});
      EXPECT_EQ(strategy.num_replicas(), devices);
      EXPECT_EQ(told.num_replicas_in_sync, 2 * devices);
      EXPECT_EQ(told.num_input_pipelines, 2);
      EXPECT_EQ(told.input_pipeline_id, worker);
    }
  }
}

// Overridden: an empty list means all devices, and there is no number beside it to contradict it.
TEST(Conformance, DEV_09_DevicesAreNamedOnceAndThereAreSome) {
  HostBackend backend(2);
  const DeviceSpec first = backend.device_spec(0);
  const auto code = [](const auto& body) {
    try {
      body();
    } catch (const InvalidArgumentError& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code([&] { MirroredStrategy(backend, {.devices = {first, first}}); }),
            ErrorCode::kDuplicateDevice);
  EXPECT_EQ(code([] { HostBackend none(0); }), ErrorCode::kNoDevices);
  EXPECT_EQ(MirroredStrategy(backend, {.devices = {}}).num_replicas(), 2);
}

}  // namespace
}  // namespace belfry
