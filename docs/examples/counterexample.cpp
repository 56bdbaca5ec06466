// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A property that fails, and its smallest counterexample.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/testing/arbitrary.h>
#include <belfry/testing/uneven_batch.h>

#include <rapidcheck.h>

#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using namespace belfry;

namespace {

double mean_of(const std::vector<double>& numbers) {
  if (numbers.empty()) return 0;
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / double(numbers.size());
}

// [wrong]
double mean_of_means(sim::Backend& backend, const belfry::testing::UnevenBatch& batch) {
  MirroredStrategy strategy{backend};
  const auto means = strategy.run([&](ReplicaContext& replica) {
    const std::vector<double> own = batch.share(replica.replica_id(), replica.num_replicas());
    return replica.all_reduce(ReduceOp::kMean, mean_of(own));
  });
  return means[0];
}
// [wrong]

// The text of RapidCheck about the case, without the numbers of tries.
std::string counterexample() {
  std::ostringstream said;
  std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
  rc::check("the mean of means is the mean",
            [](const sim::Options& options, const belfry::testing::UnevenBatch& batch) {
              sim::Backend backend{options};
              RC_ASSERT(mean_of_means(backend, batch) == mean_of(batch.whole()));
            });
  std::cerr.rdbuf(before);
  const std::string text = said.str();
  const std::size_t begin = text.find("std::tuple<");
  const std::size_t end = text.find("\n\n", begin);
  return begin == std::string::npos ? "no counterexample:\n" + text
                                    : text.substr(begin, end - begin);
}

}  // namespace

int main() { std::cout << counterexample() << '\n'; }
