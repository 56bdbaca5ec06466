// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "strategies/wrong_strategies.h"

#include "belfry/backend/backend.h"
#include "belfry/dtype.h"

#include <algorithm>

namespace belfry::testing {
namespace {

void scale_host_means(const ReduceCall& call, float factor) {
  if (call.op != ReduceOp::kMean) return;
  for (const std::vector<LeafRef>& part : call.parts) {
    for (const LeafRef& leaf : part) {
      if (leaf.tensor != nullptr || leaf.dtype != DType::kFloat32) continue;
      auto* values = static_cast<float*>(leaf.data);
      for (std::size_t i = 0; i < leaf.count; ++i) values[i] *= factor;
    }
    if (!call.everywhere) return;
  }
}

}  // namespace

std::vector<std::vector<LeafRef>> without_the_last(const ReduceCall& call) {
  std::vector<std::vector<LeafRef>> some(call.parts.begin(), call.parts.end());
  if (some.size() == 1) return some;
  for (const LeafRef& leaf : some.back()) {
    if (leaf.tensor == nullptr) {
      std::fill_n(static_cast<std::byte*>(leaf.data), leaf.bytes(), std::byte{});
    } else {
      const std::vector<std::byte> zeros(leaf.bytes());
      *leaf.tensor = AnyTensor::from_host(leaf.dtype, leaf.tensor->shape(), zeros.data(),
                                          leaf.tensor->placement());
    }
  }
  return some;
}

void ForgetfulReduce::do_reduce(const ReduceCall& call) {
  // The last replica gets the result of the others.
  std::vector<std::vector<LeafRef>> some = without_the_last(call);
  Strategy::do_reduce({call.op, some, call.everywhere, call.present});
}

void WrongMean::do_reduce(const ReduceCall& call) {
  Strategy::do_reduce(call);
  const auto replicas = static_cast<float>(call.parts.size());
  scale_host_means(call, replicas / (replicas + 1));
}

void CountsTheAbsent::do_reduce(const ReduceCall& call) {
  Strategy::do_reduce(call);
  scale_host_means(call,
                   static_cast<float>(call.parts.size()) / static_cast<float>(num_replicas()));
}

void SendsBFloat16::do_reduce(const ReduceCall& call) {
  for (const std::vector<LeafRef>& part : call.parts) {
    for (const LeafRef& leaf : part) {
      if (leaf.dtype != DType::kFloat32) continue;
      std::vector<float> values(leaf.count);
      auto* data = leaf.tensor == nullptr ? static_cast<float*>(leaf.data) : values.data();
      if (leaf.tensor != nullptr && leaf.count > 0) leaf.tensor->read(data);
      for (std::size_t i = 0; i < leaf.count; ++i) data[i] = static_cast<float>(BFloat16(data[i]));
      if (leaf.tensor == nullptr) continue;
      *leaf.tensor =
          AnyTensor::from_host(leaf.dtype, leaf.tensor->shape(), data, leaf.tensor->placement());
    }
  }
  Strategy::do_reduce(call);
}

std::vector<AnyTensor> StaleBroadcast::do_broadcast(const AnyTensor& source,
                                                    std::span<const Placement> targets) {
  std::vector<AnyTensor> copies = Strategy::do_broadcast(source, targets);
  if (targets.empty()) return copies;
  const bool fits = !first_.empty() && first_.shape() == source.shape() &&
                    first_.dtype() == source.dtype() && first_.placement() == targets.back();
  if (fits) copies.back() = first_;
  if (first_.empty()) first_ = copies.back();
  return copies;
}

void AcceptsIntegerMean::do_reduce(const ReduceCall& call) {
  const LeafRef& first = call.parts.front().front();
  const bool accepts = first.tensor != nullptr && first.dtype == DType::kInt32;
  Strategy::do_reduce(
      {accepts ? ReduceOp::kSum : call.op, call.parts, call.everywhere, call.present});
}

void FirstLeaves::do_reduce(const ReduceCall& call) {
  std::vector<std::vector<LeafRef>> first(call.parts.begin(), call.parts.end());
  for (std::vector<LeafRef>& part : first) part.resize(std::min<std::size_t>(part.size(), 4));
  Strategy::do_reduce({call.op, first, call.everywhere, call.present});
}

std::vector<AnyTensor> ShortBroadcast::do_broadcast(const AnyTensor& source,
                                                    std::span<const Placement> targets) {
  std::vector<AnyTensor> copies = Strategy::do_broadcast(source, targets);
  if (source.shape().count() <= 8 && source.dtype() == DType::kFloat32) return copies;
  const std::vector<std::byte> zeros(source.bytes());
  for (AnyTensor& copy : copies) {
    copy = AnyTensor::from_host(source.dtype(), source.shape(), zeros.data(), copy.placement());
  }
  return copies;
}

void RetriesUpdates::do_update(ComponentWork& update) {
  for (int i = 0; i < update.size(); ++i) {
    try {
      update.compute(i);
    } catch (...) {
      update.compute(i);
    }
  }
}

std::vector<AnyTensor> EmptyCopies::do_broadcast(const AnyTensor& source,
                                                 std::span<const Placement> targets) {
  const std::vector<std::byte> zeros(source.bytes());
  std::vector<AnyTensor> copies;
  for (const Placement& target : targets) {
    copies.push_back(AnyTensor::from_host(source.dtype(), source.shape(), zeros.data(), target));
  }
  return copies;
}

void ReducesInPlace::do_reduce(const ReduceCall& call) {
  std::vector<std::pair<AnyTensor, const AnyTensor*>> brought;
  for (const std::vector<LeafRef>& part : call.parts) {
    for (const LeafRef& leaf : part) {
      if (leaf.tensor != nullptr) brought.emplace_back(*leaf.tensor, leaf.tensor);
    }
  }
  Strategy::do_reduce(call);
  for (const auto& [before, after] : brought) {
    if (before.bytes() == 0 || before.view().buffer == after->view().buffer) continue;
    const auto [backend, device] = before.placement();
    backend->device(device).compute_stream().copy(before.view(), after->view());
  }
}

void AddsToTheLast::do_reduce(const ReduceCall& call) {
  Strategy::do_reduce(call);
  const LeafRef& leaf = call.parts.front().front();
  if (leaf.tensor != nullptr || leaf.dtype != DType::kFloat32) return;
  auto* sum = static_cast<float*>(leaf.data);
  last_.resize(leaf.count);
  for (std::size_t i = 0; i < leaf.count; ++i) last_[i] = sum[i] += last_[i];
}

std::vector<AnyTensor> LendsStorage::do_broadcast(const AnyTensor& source,
                                                  std::span<const Placement> targets) {
  std::vector<AnyTensor> copies;
  for (const Placement& target : targets) {
    copies.emplace_back(source.view(), source.shape(), target);
  }
  return copies;
}

}  // namespace belfry::testing
