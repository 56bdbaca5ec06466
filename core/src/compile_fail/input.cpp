// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/distributed_dataset.h"
#include "belfry/strategy.h"

#include <vector>

namespace belfry {

void input_functions_return_datasets(Strategy& strategy, const DistributeOptions& options) {
  strategy.distribute_datasets_from_function(
      [](const InputContext&) { return Dataset<int>::range(3); }, options);
#ifdef T20_INPUT_FUNCTION_RETURNS_A_NUMBER
  // EXPECT: an input function returns a Dataset, or a function without arguments
  strategy.distribute_datasets_from_function([](const InputContext&) { return 3; }, options);
#endif
}

void policies_are_chosen(Strategy& strategy, const Dataset<std::vector<int>>& dataset) {
  strategy.distribute_dataset(dataset, {.end_of_data = EndOfData::kMaskReplicas});
#ifdef DISTRIBUTE_WITHOUT_OPTIONS
  // EXPECT: no matching|too few arguments
  strategy.distribute_dataset(dataset);
#endif
}

void batches_have_rows(const Dataset<int>& numbers) {
  static_cast<void>(numbers.batch(2).rebatch({1}));
#ifdef REBATCH_NUMBERS
  // EXPECT: constraints|no matching
  static_cast<void>(numbers.rebatch({1}));
#endif
}

}  // namespace belfry
