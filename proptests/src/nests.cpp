// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/nests.h"

#include <cstring>

namespace belfry::testing {
namespace {

// NaN and zeros of both signs are told apart: bytes are compared.
template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
bool same_bytes(const std::vector<std::vector<T>>& a, const std::vector<std::vector<T>>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bytes(a[i], b[i])) return false;
  }
  return true;
}

bool same_maps(const std::map<std::string, std::vector<double>>& a,
               const std::map<std::string, std::vector<double>>& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, values] : a) {
    const auto found = b.find(key);
    if (found == b.end() || !same_bytes(values, found->second)) return false;
  }
  return true;
}

std::vector<double> scalars_of(const SampleNest& nest) {
  return {nest.scalar, nest.fixed[0], nest.fixed[1], nest.maybe.value_or(0),
          std::get<1>(nest.mixed).second};
}

double small_integer(std::uint64_t seed, int replica, std::size_t index) {
  return value_at<double>({Pattern::kSmallIntegers, seed}, replica, index);
}

}  // namespace

bool same_bits(const SampleNest& a, const SampleNest& b) {
  return same_bytes(scalars_of(a), scalars_of(b)) &&
         std::get<0>(a.mixed).bits == std::get<0>(b.mixed).bits &&
         std::get<1>(a.mixed).first.bits == std::get<1>(b.mixed).first.bits &&
         a.maybe.has_value() == b.maybe.has_value() && same_bytes(a.row, b.row) &&
         same_maps(a.named, b.named) && same_bytes(a.ragged, b.ragged) &&
         a.tensor.shape() == b.tensor.shape() && same_bytes(a.tensor.to_host(), b.tensor.to_host());
}

SampleNest nest_of(const NestShape& shape, std::uint64_t seed, int replica) {
  return make_nest(shape, [&](std::size_t i) { return small_integer(seed, replica, i); });
}

SampleNest reduced_nest(const NestShape& shape, std::uint64_t seed, int replicas, ReduceOp op) {
  const auto total = [&](std::size_t i) {
    double sum = 0;
    for (int replica = 0; replica < replicas; ++replica) sum += small_integer(seed, replica, i);
    return sum;
  };
  return make_nest(shape, total, op == ReduceOp::kSum ? 1 : replicas);
}

}  // namespace belfry::testing
