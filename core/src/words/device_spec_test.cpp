// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/device_spec.h"

#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace belfry::device_spec_test {
namespace {

const DeviceSpec kHostCpu{"localhost", 0, 0, "CPU", 0};

TEST(DeviceSpec, ReadsTheCanonicalForm) {
  const DeviceSpec spec = DeviceSpec::parse("/job:worker/replica:2/task:13/device:GPU:3");
  EXPECT_EQ(spec, (DeviceSpec{"worker", 2, 13, "GPU", 3}));
}

TEST(DeviceSpec, ReadsPartsInAnyOrder) {
  EXPECT_EQ(DeviceSpec::parse("/task:1/gpu:7/job:ps"), (DeviceSpec{"ps", 0, 1, "GPU", 7}));
  EXPECT_EQ(DeviceSpec::parse("/sim:4"), (DeviceSpec{"localhost", 0, 0, "SIM", 4}));
}

// Forms of TensorFlow, each with the device in full.
TEST(DeviceSpec, ReadsShortFormsInAnyCase) {
  const DeviceSpec gpu0{"localhost", 0, 0, "GPU", 0};
  const DeviceSpec gpu1{"localhost", 0, 0, "GPU", 1};
  for (const char* text : {"GPU:1", "gpu:1", "Gpu:1", "/GPU:1", "/gpu:1", "device:GPU:1"}) {
    EXPECT_EQ(DeviceSpec::parse(text), gpu1) << text;
  }
  for (const char* text : {"GPU", "gpu", "/gpu", "gPU:0", "/device:GPU:0"}) {
    EXPECT_EQ(DeviceSpec::parse(text), gpu0) << text;
  }
  for (const char* text : {"cpu", "CPU", "/cpu", "cpu:0"}) {
    EXPECT_EQ(DeviceSpec::parse(text), kHostCpu) << text;
  }
  EXPECT_EQ(DeviceSpec::parse("sim:4"), (DeviceSpec{"localhost", 0, 0, "SIM", 4}));
  EXPECT_EQ(DeviceSpec::parse("job:worker/task:1/gpu"), (DeviceSpec{"worker", 0, 1, "GPU", 0}));
  EXPECT_EQ(DeviceSpec::parse("/gpu/task:2"), (DeviceSpec{"localhost", 0, 2, "GPU", 0}));
}

// A type without a number is device 0, also if the defaults have a number.
TEST(DeviceSpec, AShortFormWithoutANumberIsTheFirstDevice) {
  const DeviceSpec third{"a", 1, 2, "GPU", 3};
  EXPECT_EQ(DeviceSpec::parse("gpu", third), (DeviceSpec{"a", 1, 2, "GPU", 0}));
  EXPECT_EQ(DeviceSpec::parse("", third), third);
}

TEST(DeviceSpec, OrdersByNumberNotByText) {
  EXPECT_LT(DeviceSpec::parse("/gpu:2"), DeviceSpec::parse("/gpu:10"));
  EXPECT_LT(DeviceSpec::parse("/task:9/gpu:0"), DeviceSpec::parse("/task:10/cpu:0"));
}

void expect_rejected(std::string_view text, int column, const std::string& what) {
  const ErrorReport report = report_of([&] { (void)DeviceSpec::parse(text); });
  EXPECT_EQ(report.site.line, __LINE__ - 1);
  EXPECT_EQ(report.code, ErrorCode::kDeviceString);
  EXPECT_EQ(report.summary, "device string \"" + std::string(text) + "\", column " +
                                std::to_string(column) + ": " + what);
}

TEST(DeviceSpec, ErrorsNameTheColumn) {
  const std::string words = "expected job, replica, task, device, cpu, gpu or sim";
  expect_rejected("/", 2, words);
  expect_rejected("0", 1, words);
  expect_rejected("cuda:0", 1, words);
  expect_rejected(" gpu:0", 1, words);
  expect_rejected("jbo:worker", 1, words);
  expect_rejected("GPU:0,GPU:1", 6, "expected '/'");
  expect_rejected("gpu 0", 4, "expected ':'");
  expect_rejected("gpu:", 5, "expected a number");
  expect_rejected("gpu:0/cpu:0", 6, "a second device");
  expect_rejected("gpu/cpu", 4, "a second device");
  expect_rejected("device:gpu:0", 8, "after /device: the type is written in upper case");
  expect_rejected("job", 4, "expected ':'");
  expect_rejected("/jbo:worker", 2, words);
  expect_rejected("/task:1/tpu:0", 9, words);
  expect_rejected("/gpux", 2, words);
  expect_rejected("/gpu:", 6, "expected a number");
  expect_rejected("/gpu:x", 6, "expected a number");
  expect_rejected("/gpu:-1", 6, "expected a number");
  expect_rejected("/gpu:*", 6, "expected a number");
  expect_rejected("/gpu:1x", 7, "expected '/'");
  expect_rejected("/gpu:0 ", 7, "expected '/'");
  expect_rejected("/gpu:2147483648", 6, "the number is too large");
  expect_rejected("/gpu:99999999999999999999999", 6, "the number is too large");
  expect_rejected("/device:cpu:0", 9, "after /device: the type is written in upper case");
  expect_rejected("/device:Cpu:0", 10, "after /device: the type is written in upper case");
  expect_rejected("/device::0", 9, "expected a type of device");
  expect_rejected("/device:CPU", 12, "expected ':'");
  expect_rejected("/job:", 6, "expected the name of a job");
  expect_rejected("/job:a/job:b", 7, "a second job");
  expect_rejected("/replica:0/replica:0", 11, "a second replica");
  expect_rejected("/task:0/task:0", 8, "a second task");
  expect_rejected("/gpu:0/device:CPU:0", 7, "a second device");
  expect_rejected("/cpu:0/gpu:0", 7, "a second device");
  expect_rejected(std::string_view("/gpu\0:0", 7), 5, "expected ':'");
}

TEST(DeviceSpec, TheLargestNumberIsAccepted) {
  EXPECT_EQ(DeviceSpec::parse("/gpu:2147483647").index, 2147483647);
}

std::string drawn_word(const char* letters) {
  return *rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string(letters))));
}

DeviceSpec drawn_spec() {
  const auto number = rc::gen::inRange(0, 1 << 30);
  return {drawn_word("abzAZ09_-."), *number, *number, drawn_word("ACGIMPSU_19"), *number};
}

RC_GTEST_PROP(DeviceSpecProperty, ParsingWhatWasPrintedGivesTheSpec, ()) {
  const DeviceSpec spec = drawn_spec();
  const DeviceSpec defaults = drawn_spec();
  RC_ASSERT(DeviceSpec::parse(to_string(spec), defaults) == spec);
}

RC_GTEST_PROP(DeviceSpecProperty, AnyTextIsReadOrRejectedWithAColumn, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("/:jobreplictaskdvgGPUCM019* -")));
  try {
    const DeviceSpec spec = DeviceSpec::parse(text);
    RC_ASSERT(DeviceSpec::parse(to_string(spec)) == spec);
  } catch (const InvalidArgumentError& error) {
    RC_ASSERT(error.code() == ErrorCode::kDeviceString);
    RC_ASSERT(error.report().summary.find(", column ") != std::string::npos);
  }
}

}  // namespace
}  // namespace belfry::device_spec_test
