// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on backends that fail all of them. The program passes if one test fails, with the root
// cause, and every other test is skipped.
// usage: spi_broken constructor|memory
#include "belfry/error.h"
#include "belfry/testing/sim_factory.h"

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

bool has_constructor = true;

/// Simulated devices without memory, or none at all.
class BrokenFactory final : public BackendFactory {
 public:
  std::string_view name() const override { return "broken"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    if (!has_constructor) throw DeviceError(ErrorCode::kNoDriver, "no device today");
    BackendRequest small = request;
    small.memory_limit_bytes = 1;
    return inner_.make(small);
  }
  DeviceWork work(Backend& backend) const override { return inner_.work(backend); }
  std::string replay_token(Backend& backend) const override { return inner_.replay_token(backend); }

 private:
  SimFactory inner_;
};

/// The texts of all failures.
class Failures final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed()) texts.emplace_back(result.message());
  }

  std::vector<std::string> texts;
};

}  // namespace

const BackendFactory& backend_factory() {
  static const BrokenFactory factory;
  return factory;
}

}  // namespace belfry::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  const std::string cause = argv[1];
  belfry::testing::has_constructor = cause == "memory";
  const std::string code = cause == "memory" ? "BF-060" : "BF-064";
  auto* const failures = new belfry::testing::Failures;
  ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  tests.listeners().Append(failures);  // Which owns the listener.
  const int failed = RUN_ALL_TESTS();
  const bool once = failed != 0 && failures->texts.size() == 1 &&
                    failures->texts[0].find(code) != std::string::npos;
  const int total = tests.total_test_count();
  const bool rest_is_skipped = total > 10 && tests.skipped_test_count() == total - 1;
  if (once && rest_is_skipped) return 0;
  std::cout << "of " << total << " tests, " << tests.failed_test_count() << " failed and "
            << tests.skipped_test_count() << " were skipped\n";
  return 1;
}
