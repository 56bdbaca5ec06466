// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/trials/public_step.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace belfry::sim::testing {

/// A reduction of rows, from the first to the last.
template <class T>
std::vector<T> folded(ReduceOp op, const std::vector<std::vector<T>>& rows) {
  std::vector<T> result = rows[0];
  for (std::size_t j = 0; j < result.size(); ++j) {
    T& x = result[j];
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const T y = rows[i][j];
      if (op == ReduceOp::kMax) {
        x = std::max(x, y);
      } else if (op == ReduceOp::kMin) {
        x = std::min(x, y);
      } else {
        x = op == ReduceOp::kProd ? x * y : x + y;
      }
    }
    if (op == ReduceOp::kMean) x /= static_cast<T>(rows.size());
  }
  return result;
}

/// The rows of two numbers that replicas have after they met in an exchange, from the rows before.
/// `steps` are their steps. With loops over rows: shares no code with the steps of replicas.
template <class T>
class ExchangeOracle {
 public:
  using Rows = std::vector<std::vector<T>>;

  ExchangeOracle(const std::vector<const PublicStep*>& steps, const Rows& rows)
      : steps_(steps), first_(*steps[0]), rows_(rows), after_(rows), count_(rows.size()) {}

  Rows after() {
    const std::size_t root = first_.root % count_;
    switch (first_.kind) {
      case PublicStep::Kind::kAllReduce:
        after_.assign(count_, folded(operator_of(first_), rows_));
        break;
      case PublicStep::Kind::kAllGather:
        gather_prefixes();
        break;
      case PublicStep::Kind::kReduceScatter:
        share_out(folded(operator_of(first_), rows_), first_.b != 0);
        break;
      case PublicStep::Kind::kAllToAll:
        transpose();
        break;
      case PublicStep::Kind::kBroadcast:
        for (auto& row : after_) add(row, rows_[root], 1);
        break;
      case PublicStep::Kind::kPermute:
        shift();
        break;
      case PublicStep::Kind::kScatterFrom:
        if (first_.b == 0) {
          share_out(rows_[root], false);
          break;
        }
        for (std::size_t i = 0; i < count_; ++i) add(after_[i], rows_[root], factor(root, i));
        break;
      default:
        add(after_[root], rows_[first_.b % count_], 1);
        break;
    }
    return after_;
  }

 private:
  static void add(std::vector<T>& to, const std::vector<T>& row, std::size_t factor) {
    for (std::size_t j = 0; j < 2; ++j) to[j] += row[j] * static_cast<T>(factor);
  }

  // Of the part of sender `from` for receiver `to`.
  std::size_t factor(std::size_t from, std::size_t to) const {
    return (steps_[from]->swaps ? count_ - 1 - to : to) + 2 + first_.b;
  }

  void gather_prefixes() {
    std::vector<T> all;
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < (i + first_.root) % 3; ++j) all.push_back(rows_[i][j]);
    }
    for (std::size_t i = 0; i < count_; ++i) {
      std::vector<T> longer = all;
      longer.insert(longer.end(), rows_[i].begin(), rows_[i].end());
      const std::size_t begin = std::min(first_.b, all.size());
      after_[i] = {longer[begin], longer[begin + 1]};
    }
  }

  // Each number is multiplied by its owner, and everybody has both.
  void share_out(std::vector<T> whole, bool named) {
    std::size_t owner[2] = {0, count_ > 1 ? std::size_t(1) : std::size_t(0)};
    if (named) {
      const std::size_t one = first_.root % count_;
      const std::size_t other = (first_.root + first_.b) % count_;
      owner[0] = std::min(one, other);
      owner[1] = std::max(one, other);
    }
    for (std::size_t j = 0; j < 2; ++j) whole[j] *= static_cast<T>(owner[j] + 2);
    after_.assign(count_, whole);
  }

  void transpose() {
    for (std::size_t to = 0; to < count_; ++to) {
      after_[to] = {T(0), T(0)};
      for (std::size_t from = 0; from < count_; ++from) {
        for (std::size_t j = 0; j < 2; ++j) {
          const T part = rows_[from][j] * static_cast<T>(factor(from, to));
          after_[to][j] += part * static_cast<T>(from + 1);
        }
      }
    }
  }

  void shift() {
    for (std::size_t i = 0; i < count_; ++i) {
      if (i == first_.b) continue;
      std::size_t from = i;
      std::size_t to = (i + 1 + first_.root) % count_;
      if (first_.swaps) std::swap(from, to);
      add(after_[to], rows_[from], 2);
    }
  }

  const std::vector<const PublicStep*>& steps_;
  const PublicStep& first_;
  const Rows& rows_;
  Rows after_;
  std::size_t count_;
};

}  // namespace belfry::sim::testing
