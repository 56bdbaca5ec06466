// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The steps of a PublicProgram that exchange values between replicas.
#include "belfry/tensor_ops.h"
#include "testing/trials/public_state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;
using Numbers = std::vector<double>;

Numbers times(Numbers x, std::size_t factor) {
  for (double& number : x) number *= static_cast<double>(factor);
  return x;
}
Numbers plus(Numbers x, const Numbers& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}
Numbers cut(const Numbers& x, std::size_t begin, std::size_t end) {
  return {x.begin() + static_cast<std::ptrdiff_t>(begin),
          x.begin() + static_cast<std::ptrdiff_t>(end)};
}
Numbers joined(Numbers x, const Numbers& y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}
std::size_t size_of(const Numbers& x) { return x.size(); }

Tensor<float> times(const Tensor<float>& x, std::size_t factor) {
  return multiply(x, static_cast<float>(factor));
}
Tensor<float> plus(const Tensor<float>& x, const Tensor<float>& y) { return add(x, y); }
Tensor<float> cut(const Tensor<float>& x, std::size_t begin, std::size_t end) {
  return slice(x, Axis(0), static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
}
Tensor<float> joined(const Tensor<float>& x, const Tensor<float>& y) {
  return concatenate(std::vector{x, y});
}
std::size_t size_of(const Tensor<float>& x) { return static_cast<std::size_t>(x.shape().count()); }

// A step of a replica that meets `count` replicas and is the one in `position`.
class Exchange {
 public:
  Exchange(const ReplicaContext& context, const PublicStep& step, const std::vector<int>& ids)
      : context_(context), step_(step), ids_(ids), count_(ids.size()) {
    while (ids[position_] != context.replica_id()) ++position_;
  }

  template <class T>
  T result(const T& own) const {
    switch (step_.kind) {
      case Kind::kAllReduce:
        return context_.all_reduce(operator_of(step_), own);
      case Kind::kAllGather:
        return gathered(own);
      case Kind::kReduceScatter:
        return rejoined(context_.reduce_scatter(operator_of(step_), own, Axis(0), sizes()));
      case Kind::kAllToAll:
        return transposed(own);
      case Kind::kBroadcast:
        return plus(own, context_.broadcast(own, name(step_.root)));
      case Kind::kPermute: {
        const std::optional<T> received = context_.permute(own, pairs());
        return received ? plus(own, times(*received, 2)) : own;
      }
      case Kind::kScatterFrom:
        return scattered(own);
      default: {
        const std::optional<T> all = context_.gather_to(own, name(step_.root));
        const std::size_t begin = 2 * (step_.b % count_);
        return all ? plus(own, cut(*all, begin, begin + 2)) : own;
      }
    }
  }

 private:
  // A replica as roots and pairs name it: in a group by index.
  int name(std::size_t position) const {
    position %= count_;
    return step_.axis > 0 ? static_cast<int>(position) : ids_[position];
  }

  // Of two rows; none: balanced.
  std::vector<std::int64_t> sizes() const {
    if (step_.b == 0) return {};
    std::vector<std::int64_t> sizes(count_, 0);
    ++sizes[step_.root % count_];
    ++sizes[(step_.root + step_.b) % count_];
    return sizes;
  }

  // A shift; one replica may send nothing.
  std::vector<std::pair<int, int>> pairs() const {
    std::vector<std::pair<int, int>> pairs;
    for (std::size_t from = 0; from < count_; ++from) {
      if (from == step_.b) continue;
      std::pair<int, int> pair(name(from), name(from + 1 + step_.root));
      if (step_.swaps) std::swap(pair.first, pair.second);
      pairs.push_back(pair);
    }
    return pairs;
  }

  // The whole of parts that their owners have changed.
  template <class T>
  T rejoined(const T& part) const {
    return context_.all_gather(times(part, position_ + 2), Axis(0));
  }

  template <class T>
  T gathered(const T& own) const {
    const T all = context_.all_gather(cut(own, 0, (position_ + step_.root) % 3), Axis(0));
    const std::size_t begin = std::min(size_of(all), step_.b);
    return cut(joined(all, own), begin, begin + 2);
  }

  template <class T>
  std::vector<T> parts(const T& own) const {
    std::vector<T> parts;
    for (std::size_t i = 0; i < count_; ++i) parts.push_back(times(own, i + 2 + step_.b));
    if (step_.swaps) std::reverse(parts.begin(), parts.end());
    return parts;
  }

  template <class T>
  T transposed(const T& own) const {
    const std::vector<T> received = context_.all_to_all(parts(own));
    T sum = received[0];
    for (std::size_t i = 1; i < count_; ++i) sum = plus(sum, times(received[i], i + 1));
    return sum;
  }

  template <class T>
  T scattered(const T& own) const {
    const int root = name(step_.root);
    if (step_.b == 0) return rejoined(context_.scatter_from(own, Axis(0), root));
    const bool is_root = position_ == step_.root % count_;
    return plus(own, context_.scatter_from(is_root ? parts(own) : std::vector<T>(), root));
  }

  const ReplicaContext& context_;
  const PublicStep& step_;
  const std::vector<int>& ids_;
  std::size_t count_;
  std::size_t position_ = 0;
};

}  // namespace

void PublicState::exchange(ReplicaContext& replica, const PublicStep& step) {
  const std::vector<int> ids = program_.meeting(replica.replica_id(), step);
  const auto exchange_in = [&](const ReplicaContext& context) {
    const Exchange exchange(context, step, ids);
    if (is_of_tensors(step)) {
      Tensor<float>& mine = own(replica);
      mine = exchange.result(mine);
      return;
    }
    double& slot = slots_[static_cast<std::size_t>(replica.replica_id())];
    const Numbers result = exchange.result(Numbers{slot + replica.replica_id(), slot + 1});
    slot = result[0] + 3 * result[1];
  };
  if (step.axis == 0) return exchange_in(replica);
  const GroupContext group = replica.along(mesh_, step.axis == 1 ? "x" : "y");
  exchange_in(group);
}

void PublicState::change_rows(ReplicaContext& replica, const PublicStep& step) {
  scale(rows_.on(replica),
        static_cast<float>(step.b + 2 + static_cast<std::size_t>(replica.replica_id())));
  const Tensor<float> whole = rows_.whole(replica);
  const std::size_t begin = step.root % (size_of(whole) - 1);
  Tensor<float>& mine = own(replica);
  mine = plus(mine, cut(whole, begin, begin + 2));
}

}  // namespace belfry::sim::testing
