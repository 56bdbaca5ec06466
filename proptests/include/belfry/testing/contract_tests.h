// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/contracts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

namespace belfry::testing {

/// Makes a GoogleTest test `<suite>.C_run`, ... for each contract. Call before RUN_ALL_TESTS; the
/// factories must outlive the tests. For strategies with a single replica the tests print the parts
/// that were not checked.
inline void register_contract_tests(const std::string& suite, const StrategyFactory& strategies,
                                    const BackendFactory& backends,
                                    const ContractOptions& options = {}) {
  class KeepsContract final : public ::testing::Test {
   public:
    KeepsContract(std::string id, const StrategyFactory& strategies, const BackendFactory& backends,
                  const ContractOptions& options)
        : id_(std::move(id)), strategies_(strategies), backends_(backends), options_(options) {}
    void TestBody() override {
      const ContractResult result = check_contract(id_, strategies_, backends_, options_);
      EXPECT_TRUE(result.kept) << result.message;
      if (result.left_out.empty()) return;
      RecordProperty("left_out", result.left_out);
      std::cout << result.id << " of " << strategies_.name()
                << ", left out with one replica: " << result.left_out << '\n';
    }

   private:
    std::string id_;
    const StrategyFactory& strategies_;
    const BackendFactory& backends_;
    ContractOptions options_;
  };
  for (const Contract& contract : contracts()) {
    const std::string id(contract.id);
    std::string name = id;
    std::replace(name.begin(), name.end(), '-', '_');
    ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [id, &strategies, &backends, options]() -> ::testing::Test* {
                              return new KeepsContract(id, strategies, backends, options);
                            });
  }
}

}  // namespace belfry::testing
