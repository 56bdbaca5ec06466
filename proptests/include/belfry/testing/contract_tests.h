// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/contracts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace belfry::testing {

/// Makes a GoogleTest test `<suite>.C_run`, ... for each contract. Call before RUN_ALL_TESTS; the
/// factories must outlive the tests. The test of a contract above a broken contract is skipped,
/// with the name of the broken contract. The tests print unchecked parts.
inline void register_contract_tests(const std::string& suite, const StrategyFactory& strategies,
                                    const BackendFactory& backends,
                                    const ContractOptions& options = {}) {
  class KeepsContract final : public ::testing::Test {
   public:
    KeepsContract(std::string id, std::string name, std::shared_ptr<ContractResults> results)
        : id_(std::move(id)), name_(std::move(name)), results_(std::move(results)) {}
    void TestBody() override {
      const ContractResult& result = results_->of(id_);
      if (!result.not_judged_because.empty()) GTEST_SKIP() << result.message;
      EXPECT_TRUE(result.kept) << result.message;
      if (result.left_out.empty()) return;
      RecordProperty("left_out", result.left_out);
      std::cout << result.id << " of " << name_ << ", left out: " << result.left_out << '\n';
    }

   private:
    std::string id_;
    std::string name_;
    std::shared_ptr<ContractResults> results_;  // Shared by the tests of a suite.
  };
  const auto results = std::make_shared<ContractResults>(strategies, backends, options);
  for (const Contract& contract : contracts()) {
    const std::string id(contract.id);
    std::string name = id;
    std::replace(name.begin(), name.end(), '-', '_');
    ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [id, &strategies, results]() -> ::testing::Test* {
                              return new KeepsContract(id, std::string(strategies.name()), results);
                            });
  }
}

}  // namespace belfry::testing
