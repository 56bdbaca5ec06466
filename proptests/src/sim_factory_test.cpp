// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Settings of simulated backends: checks of kernels; from the environment, sharing of copies and
// the replica whose functions merges take.
#include "belfry/testing/sim_factory.h"

#include "belfry/launch.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace belfry::testing::sim_factory_test {
namespace {

constexpr const char* kShareCopies = "BELFRY_TESTING_SHARE_COPIES";
constexpr const char* kFunctionsOf = "BELFRY_TESTING_FUNCTIONS_OF";

// Sets or deletes a variable of the environment, and restores the old value at the end.
class Environment {
 public:
  explicit Environment(const char* word, const char* name = kShareCopies) : name_(name) {
    const char* const now = std::getenv(name_);
    had_ = now != nullptr;
    if (had_) before_ = now;
    set(word);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { set(had_ ? before_.c_str() : nullptr); }

 private:
  void set(const char* word) const {
    if (word == nullptr) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, word, 1);
    }
  }

  const char* name_;
  bool had_ = false;
  std::string before_;
};

bool shares(const BackendRequest& request) {
  const std::unique_ptr<Backend> backend = SimFactory{}.make(request);
  return static_cast<const sim::Backend&>(*backend).options().share_copies;
}

TEST(SimFactory, MakesBackendsThatDoNotShareCopies) {
  const Environment none(nullptr);
  EXPECT_FALSE(shares({}));
  EXPECT_TRUE(shares({.share_copies = true}));
}

TEST(SimFactory, SharesCopiesWhereTheEnvironmentSays) {
  {
    const Environment one("1");
    EXPECT_TRUE(shares({}));
    EXPECT_FALSE(shares({.share_copies = false}));
  }
  const Environment zero("0");
  EXPECT_FALSE(shares({}));
}

TEST(SimFactory, ChecksKernelsOfUsers) {
  testing::asserts("SEM-174");
  const std::unique_ptr<Backend> backend = SimFactory{}.make({});
  EXPECT_TRUE(static_cast<const sim::Backend&>(*backend).options().check_kernels);
}

struct Fails {
  void on_host(std::span<float>) const { throw 7; }
};

// The work that a property has left behind on purpose.
TEST(SimFactory, CountsFailedWorkOfBodies) {
  const SimFactory factory;
  const std::unique_ptr<Backend> backend = factory.make({});
  auto x = Tensor<float>::full({1}, 1, Placement{backend.get(), 0});
  launch(Fails(), updates(x));
  EXPECT_EQ(factory.work(*backend).commands, 2U);
  EXPECT_THROW(x.to_host(), int);
}

int functions_of(const BackendRequest& request) {
  const std::unique_ptr<Backend> backend = SimFactory{}.make(request);
  return backend->run_settings().functions_of;
}

TEST(SimFactory, TakesTheFunctionsThatTheEnvironmentNames) {
  {
    const Environment last("last", kFunctionsOf);
    EXPECT_EQ(functions_of({.devices = 3}), 2);
    EXPECT_EQ(functions_of({.devices = 1}), 0);
    EXPECT_EQ(to_string(BackendRequest{.devices = 3, .carrier = CarrierKind::kFiber}),
              "3 devices, fixed schedule, fibers, functions of the last replica");
  }
  {
    const Environment first("first", kFunctionsOf);
    EXPECT_EQ(functions_of({.devices = 3}), 0);
    EXPECT_EQ(functions_of({.devices = 3, .functions_of_last = true}), 2);
  }
  {
    const Environment none(nullptr, kFunctionsOf);
    EXPECT_EQ(functions_of({.devices = 3}), 0);
  }
  const Environment other("1", kFunctionsOf);
  EXPECT_THROW(functions_of({.devices = 3}), std::invalid_argument);
}

}  // namespace
}  // namespace belfry::testing::sim_factory_test
