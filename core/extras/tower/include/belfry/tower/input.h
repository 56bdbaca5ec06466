// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dataset.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/distributed_dataset.h"
#include "belfry/strategy.h"
#include "belfry/tower/arrays.h"
#include "belfry/tower/call.h"

#include <iterator>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

/// The input of `belfry/tower.h`. Every function takes options: the end of the data has no default.
namespace belfry::tower {

/// The steps of a dataset, the next step with each call of `get_next`. A loop reads the steps anew.
/// After a restore of a position (SEM-255), `get_next` begins there.
template <class B>
class DistributedIterator : public DistributedDataset<B> {
 public:
  /// The steps of `steps`.
  explicit DistributedIterator(DistributedDataset<B> steps)
      : DistributedDataset<B>(std::move(steps)) {}

  /// Throws: the errors of a loop, and InvalidArgumentError (kOutOfBounds) after the end of the
  /// data.
  PerReplica<B> get_next(CallSite site = CallSite::here()) {
    if (at_ && !this->position()->now().is_restored) {
      ++*at_;
    } else {
      at_.emplace(this->begin());
    }
    if (*at_ == std::default_sentinel) detail::throw_data_ended(site);
    return **at_;
  }

 private:
  std::optional<detail::ReaderIterator<PerReplica<B>>> at_;
};

template <class B>
DistributedIterator<B> distribute_dataset(Strategy& of, const Dataset<B>& dataset,
                                          const DistributeOptions& options,
                                          CallSite site = CallSite::here()) {
  return DistributedIterator<B>(of.distribute_dataset(dataset, options, site));
}
template <class B>
DistributedIterator<B> experimental_distribute_dataset(Strategy& of, const Dataset<B>& dataset,
                                                       const DistributeOptions& options,
                                                       CallSite site = CallSite::here()) {
  return DistributedIterator<B>(of.distribute_dataset(dataset, options, site));
}
/// `input_fn(InputContext)` returns a dataset, or a function that returns the next element.
template <class F>
auto make_input_fn_iterator(Strategy& of, const F& input_fn, const DistributeOptions& options,
                            CallSite site = CallSite::here()) {
  return DistributedIterator(of.distribute_datasets_from_function(input_fn, options, site));
}
/// The elements of a vector; a strategy makes no difference to them.
template <class T>
Dataset<T> experimental_make_numpy_dataset(Strategy&, std::vector<T> elements) {
  return Dataset<T>::from(std::move(elements));
}
/// Element k has element k of each vector.
/// Throws: InvalidArgumentError (kShape) for vectors of different lengths.
template <class... T>
Dataset<std::tuple<T...>> experimental_make_numpy_dataset(Strategy&,
                                                          std::tuple<std::vector<T>...> arrays,
                                                          CallSite site = CallSite::here()) {
  return detail::side_by_side<std::tuple<T...>>(std::move(arrays), site);
}
template <class A, class B>
Dataset<std::pair<A, B>> experimental_make_numpy_dataset(
    Strategy&, std::pair<std::vector<A>, std::vector<B>> arrays, CallSite site = CallSite::here()) {
  return detail::side_by_side<std::pair<A, B>>(std::move(arrays), site);
}

}  // namespace belfry::tower
