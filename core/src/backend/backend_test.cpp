// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/backend.h"

#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>

namespace belfry::backend_test {
namespace {

// Devices /sim:0 to /sim:n-1 with names alone: no call does work.
class NamesOnly : public Backend {
 public:
  explicit NamesOnly(int count) : count_(count) {}
  std::string_view name() const override { return "names"; }
  int device_count() const override { return count_; }
  DeviceSpec device_spec(int index) const override { return {"localhost", 0, 0, "SIM", index}; }
  Device& device(int) override { throw 0; }
  std::unique_ptr<Communicator> communicator(std::span<const int>) override { return nullptr; }
  Executor& executor() override { throw 0; }

 private:
  int count_;
};

TEST(Backend, AnUnknownDeviceIsAnsweredWithTheList) {
  const NamesOnly backend{2};
  const ErrorReport report =
      report_of([&] { (void)backend.index_of(DeviceSpec::parse("/gpu:0")); });
  EXPECT_EQ(report.site.line, __LINE__ - 1);
  EXPECT_EQ(report.code, ErrorCode::kUnknownDevice);
  EXPECT_EQ(report.summary, "no device /job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(report.expected,
            "this backend has /job:localhost/replica:0/task:0/device:SIM:0, "
            "/job:localhost/replica:0/task:0/device:SIM:1");
}

// The same, with the host after the devices.
class NamesAndHost final : public NamesOnly {
 public:
  explicit NamesAndHost(int count) : NamesOnly(count), connections_{.links = {}, .host = count} {}
  DeviceSpec device_spec(int index) const override {
    return index == device_count() ? DeviceSpec{} : NamesOnly::device_spec(index);
  }
  const Connections& connections() const override { return connections_; }

 private:
  Connections connections_;
};

TEST(Backend, TheHostIsADeviceIfTheBackendSaysSo) {
  const NamesOnly without{2};
  EXPECT_FALSE(without.has_device(2));
  EXPECT_THROW((void)without.index_of(DeviceSpec::parse("/cpu:0")), InvalidArgumentError);
  const NamesAndHost backend{2};
  EXPECT_EQ(backend.devices().size(), 2U) << "the host is none of the devices";
  EXPECT_EQ(backend.index_of(DeviceSpec::parse("/cpu:0")), 2);
  EXPECT_TRUE(backend.has_device(0));
  EXPECT_TRUE(backend.has_device(1));
  EXPECT_TRUE(backend.has_device(2));
  EXPECT_FALSE(backend.has_device(-1) || backend.has_device(3));
  EXPECT_EQ(report_of([&] { (void)backend.index_of(DeviceSpec::parse("/cpu:1")); }).expected,
            "this backend has /job:localhost/replica:0/task:0/device:SIM:0, "
            "/job:localhost/replica:0/task:0/device:SIM:1, and the host "
            "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST(Backend, ALongListIsCutShort) {
  const NamesOnly backend{100};
  const std::string text =
      report_of([&] { (void)backend.index_of(DeviceSpec::parse("/gpu:0")); }).expected;
  EXPECT_TRUE(text.ends_with("/device:SIM:7 and 92 more")) << text;
}

}  // namespace
}  // namespace belfry::backend_test
