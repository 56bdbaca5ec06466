// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/tensor.h"
#include "belfry/testing/backend_factory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace belfry::testing {

/// Numbers and lists of a row in host memory.
struct OnHost {
  static constexpr bool kOnDevices = false;
  static std::string name() { return "host"; }
  template <class T>
  static T number(T value) {
    return value;
  }
  template <class T>
  static std::vector<T> list(std::vector<T> values) {
    return values;
  }
  template <class T>
  static T value(T number) {
    return number;
  }
  template <class T>
  static std::vector<T> values(std::vector<T> list) {
    return list;
  }
};

/// The same values as tensors, on the current device.
struct OnDevices {
  static constexpr bool kOnDevices = true;
  static std::string name() { return "devices"; }
  template <class T>
  static Tensor<T> number(T value) {
    return Tensor<T>::full({}, value);
  }
  template <class T>
  static Tensor<T> list(const std::vector<T>& values) {
    return Tensor<T>::from({static_cast<std::int64_t>(values.size())}, values);
  }
  template <class T>
  static T value(const Tensor<T>& number) {
    return number.item();
  }
  template <class T>
  static std::vector<T> values(const Tensor<T>& list) {
    return list.to_host();
  }
};

/// Rows of the catalogue whose numbers are tried in both residences (SEM-21). With tensors a test
/// passes only if a backend of its fixtures ran kernels or collectives.
template <class Where, class Fixture>
class NumericRows : public ::testing::Test {
 protected:
  /// Lives as long as the test.
  Fixture& fixture(int replicas = 2) {
    fixtures_.push_back(std::make_unique<Fixture>(replicas));
    return *fixtures_.back();
  }
  void TearDown() override {
    if (HasFailure() || !Where::kOnDevices) return;
    DeviceWork work;
    for (const auto& fixture : fixtures_) work += backend_factory().work(*fixture->backend);
    EXPECT_GT(work.commands + work.collectives, 0U)
        << "nothing ran on devices of " << backend_factory().name();
  }

 private:
  std::vector<std::unique_ptr<Fixture>> fixtures_;
};

template <class Test>
::testing::Test* make_test() {
  return new Test;
}
/// Registers a test in both residences.
inline bool register_rows(const std::string& fixture, const char* name, const char* file, int line,
                          ::testing::Test* (*on_host)(), ::testing::Test* (*on_devices)()) {
  ::testing::RegisterTest((fixture + "/host").c_str(), name, nullptr, nullptr, file, line, on_host);
  ::testing::RegisterTest((fixture + "/devices").c_str(), name, nullptr, nullptr, file, line,
                          on_devices);
  return true;
}

}  // namespace belfry::testing

/// A test in both residences, FIXTURE/host.NAME and FIXTURE/devices.NAME, with the residence as
/// TypeParam. TYPED_TEST would instantiate GoogleTest's registration for each test, a twentieth of
/// the code.
#define TYPED_TEST_F(FIXTURE, NAME)                                                            \
  template <class Where>                                                                       \
  class FIXTURE##_##NAME : public FIXTURE<Where> {                                             \
    using TypeParam = Where;                                                                   \
    void TestBody() override;                                                                  \
  };                                                                                           \
  [[maybe_unused]] const bool kRegistered_##FIXTURE##_##NAME =                                 \
      register_rows(#FIXTURE, #NAME, __FILE__, __LINE__, &make_test<FIXTURE##_##NAME<OnHost>>, \
                    &make_test<FIXTURE##_##NAME<OnDevices>>);                                  \
  template <class Where>                                                                       \
  void FIXTURE##_##NAME<Where>::TestBody()
