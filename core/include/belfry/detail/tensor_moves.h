// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/collective.h"
#include "belfry/call_site.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// gather_components_of_processes for values that move. Tensors of other processes have no elements
/// here, and `on_devices` is true, if the devices of all processes can be joined (SEM-285).
template <class T>
PerReplica<T> gather_components_to_move(StrategyCore& core, const char* what,
                                        const PerReplica<T>& value, CallSite site,
                                        bool& on_devices) {
  if constexpr (!is_sent<T>() || !lives_on_devices<T>()) {
    return gather_components_of_processes(core, what, value, site);
  } else {
    return gather_components_by(core, what, value, site, [&](const auto& write) {
      SentValues sent = exchange_to_move(core, what, site, tensors_of(value), write);
      on_devices = sent.on_devices;
      return sent;
    });
  }
}

/// Tensors on their way between the devices of processes. All processes add the same tensors in the
/// same order.
class TensorMoves {
 public:
  /// Nothing moves unless `on_devices`.
  TensorMoves(StrategyCore& core, bool on_devices) : core_(core), on_devices_(on_devices) {}

  /// A tensor of replica `from` goes to `receivers`: once to each other process that has some of
  /// them, to the first. Returns there the tensor on the device of the first, whose elements come
  /// with `run`; in all other processes the argument.
  AnyTensor add(const AnyTensor& tensor, int from, const std::vector<int>& receivers);
  /// The same for the tensors of a value, which are replaced.
  template <class T>
  void add_all(const T& value, int from, const std::vector<int>& receivers) {
    if constexpr (lives_on_devices<T>()) {
      if (!on_devices_) return;
      // A value of several processes is a copy for its exchange.
      for_each_leaf(const_cast<T&>(value), [&](auto& leaf) {
        using Leaf = std::remove_cvref_t<decltype(leaf)>;
        if constexpr (IsTensor<Leaf>::value) leaf = Leaf(add(leaf.any(), from, receivers));
      });
    }
  }
  /// An exception of the work between the calls of `add`: `run` throws it, and tells the others.
  void fail(std::exception_ptr thrown) { failure_ = std::move(thrown); }
  /// Order: by the communicator of the processes, enqueued on communication streams, after the work
  /// that made the tensors and before later work with them. Without a communicator, an exchange of
  /// parts (SEM-220): blocks the host until all processes have called.
  /// Throws: DeviceError; exceptions of `fail` and `add`; without a communicator, PeerFailedError
  /// in the other processes.
  void run(CallSite site);

 private:
  void add_transfers(AnyTensor& tensor, int from, const std::vector<int>& receivers);

  StrategyCore& core_;
  bool on_devices_;
  std::vector<Transfer> transfers_;
  std::exception_ptr failure_;
};

/// The components of all processes, for a gather along `axis`. Tensors of other processes come to
/// the first device of this process that needs them. Throws: as gather_components and
/// gather_components_of_processes.
template <class T>
PerReplica<T> components_to_gather(StrategyCore& core, const char* what, const PerReplica<T>& value,
                                   Axis axis, CallSite site) {
  bool on_devices = false;
  PerReplica<T> all = gather_components_to_move(core, what, value, site, on_devices);
  if (!on_devices) return all;
  gather_components(core, all, axis, 0, site);  // The checks.
  TensorMoves moves(core, true);
  std::vector<int> receivers;  // Of every process, also where no replica takes part.
  for (int id = 0; id < core.size(); ++id) receivers.push_back(id);
  for (int i = 0; i < all.present().count(); ++i) {
    const int from = all.present().id(i);
    moves.add_all(all[from], from, receivers);
  }
  moves.run(site);
  return all;
}

/// `fn(value)`, with the components of all processes.
template <class T, class F>
auto gather_of_processes(StrategyCore& core, const char* what, const PerReplica<T>& value,
                         Axis axis, CallSite site, const F& fn) {
  if (core.members().is_alone()) [[likely]] {
    return fn(value);
  }
  return fn(components_to_gather(core, what, value, axis, site));
}

}  // namespace belfry::detail
