// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Names of devices in the reference systems, a test for each row of the catalogue without devices.
#include "belfry/device_spec.h"
#include "belfry/error.h"

#include <gtest/gtest.h>

#include <string>

namespace belfry::device_conformance_test {
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

}  // namespace
}  // namespace belfry::device_conformance_test
