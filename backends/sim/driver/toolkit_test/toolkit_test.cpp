// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "surface.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

namespace belfry::driver::toolkit_test {
namespace {

TEST(Toolkit, OwnHeadersDeclareWhatTheRealOnesDo) {
  const Surface own = own_surface();
  const Surface real = real_surface();
  ASSERT_EQ(own.size(), real.size());
  for (const auto& [name, meaning] : own) EXPECT_EQ(meaning, real.at(name)) << name;
}

// Compares the list with every function and enumerator of the headers: none may be missing.
TEST(Toolkit, TheComparisonIsComplete) {
  std::set<std::string> declared;
  const std::regex pattern(R"(\b(cuda\w+|nccl\w+)(?=\(| = \d))");
  for (const char* name : {"cuda_runtime.h", "nccl.h"}) {
    std::ifstream file(std::string(BELFRY_TOOLKIT_FOLDER "/") + name);
    ASSERT_TRUE(file) << name;
    for (std::string line; std::getline(file, line);) {
      for (std::sregex_iterator found(line.begin(), line.end(), pattern), end; found != end;
           ++found) {
        declared.insert(found->str());
      }
    }
  }
  // Counts of enumerators, which differ between versions of NCCL and belong to no call.
  for (const char* name : {"ncclNumResults", "ncclNumTypes"}) declared.erase(name);
  EXPECT_GT(declared.size(), 100U);
  const Surface own = own_surface();
  for (const std::string& name : declared) EXPECT_EQ(own.count(name), 1U) << name;
}

}  // namespace
}  // namespace belfry::driver::toolkit_test
