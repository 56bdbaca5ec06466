// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What suites compare on simulated devices lies in different bytes, unless the environment asks for
// shared ones.
#include "belfry/testing/sim_factory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace belfry::testing {
namespace {

constexpr const char* kShareCopies = "BELFRY_TESTING_SHARE_COPIES";

// Sets a variable of the environment, or takes it away, and puts back what was there.
class Environment {
 public:
  explicit Environment(const char* word) {
    const char* const now = std::getenv(kShareCopies);
    had_ = now != nullptr;
    if (had_) before_ = now;
    set(word);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { set(had_ ? before_.c_str() : nullptr); }

 private:
  static void set(const char* word) {
    if (word == nullptr) {
      ::unsetenv(kShareCopies);
    } else {
      ::setenv(kShareCopies, word, 1);
    }
  }

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

}  // namespace
}  // namespace belfry::testing
