// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dataset.h"
#include "belfry/distribute_options.h"
#include "belfry/distributed_dataset.h"
#include "belfry/strategy.h"

#include <utility>
#include <vector>

/// The input of `belfry/tower.h`. How data ends has to be said, so that all take options.
namespace belfry::tower {

template <class B>
DistributedDataset<B> distribute_dataset(Strategy& of, const Dataset<B>& dataset,
                                         const DistributeOptions& options,
                                         CallSite site = CallSite::here()) {
  return of.distribute_dataset(dataset, options, site);
}
template <class B>
DistributedDataset<B> experimental_distribute_dataset(Strategy& of, const Dataset<B>& dataset,
                                                      const DistributeOptions& options,
                                                      CallSite site = CallSite::here()) {
  return of.distribute_dataset(dataset, options, site);
}
/// `input_fn(InputContext)` returns a dataset, or a function that returns the next element.
template <class F>
auto make_input_fn_iterator(Strategy& of, const F& input_fn, const DistributeOptions& options,
                            CallSite site = CallSite::here()) {
  return of.distribute_datasets_from_function(input_fn, options, site);
}
/// The elements of a vector; a strategy makes no difference to them.
template <class T>
Dataset<T> experimental_make_numpy_dataset(Strategy&, std::vector<T> elements) {
  return Dataset<T>::from(std::move(elements));
}

}  // namespace belfry::tower
