// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// Sums and means of 16-bit floats over a single GPU, several GPUs, and several replicas on some of
// the GPUs: added and divided as floats, rounded once (SEM-31, SEM-33), without a requested order.
namespace belfry::cuda::sixteen_bits_test {
namespace {

using test::first_ranks;

constexpr int kGpus = 4;
constexpr int kMostReplicas = 8;

/// A 16-bit type by its definition: multiples of 2^unit with up to `significand` bits, from
/// 2^lowest to `most`.
struct Format {
  int significand;
  int lowest;
  double most;
};

template <class T>
Format format_of();
template <>
Format format_of<Float16>() {
  return {11, -24, 65504.0};
}
template <>
Format format_of<BFloat16>() {
  return {8, -133, std::ldexp(255.0, 120)};
}

/// To the nearest number of the format, ties to even.
double rounded(double exact, const Format& format) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int unit = std::max(exponent - format.significand, format.lowest);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(exact, -unit)), unit);
  if (std::abs(nearest) <= format.most) return nearest;
  return std::copysign(std::numeric_limits<double>::infinity(), exact);
}

using Values = std::vector<std::vector<double>>;  // of each replica

/// The results by the rules, for values with a sum that is a float: the sum of doubles is then
/// exact. The quotient is first rounded to a double, with enough bits to make no difference to the
/// float.
std::vector<double> expected(const Values& values, ReduceOp op, const Format& format) {
  std::vector<double> results;
  for (std::size_t i = 0; i < values[0].size(); ++i) {
    double sum = 0;
    for (const auto& own : values) sum += own[i];
    const auto members = static_cast<double>(values.size());
    const double result = op == ReduceOp::kMean ? static_cast<float>(sum / members) : sum;
    results.push_back(rounded(result, format));
  }
  return results;
}

template <class T>
std::vector<T> narrowed(const std::vector<double>& values) {
  std::vector<T> narrow;
  for (const double value : values) narrow.push_back(T(static_cast<float>(value)));
  return narrow;
}

template <class T>
std::vector<double> widened(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

/// Options for devices on these GPUs, with replicas that take turns.
Options on(std::vector<int> gpus) {
  Options options;
  options.devices = std::move(gpus);
  options.carrier = Carrier::kFiber;
  options.warm_up = false;
  return options;
}

/// The result of each replica after a reduction of a tensor.
template <class T>
Values all_reduced(Strategy& strategy, ReduceOp op, const Values& values) {
  const auto results = strategy.run([&](ReplicaContext& replica) {
    const auto mine = narrowed<T>(values[static_cast<std::size_t>(replica.replica_id())]);
    const Shape shape{static_cast<std::int64_t>(mine.size())};
    return widened(
        replica.all_reduce(op, Tensor<T>::from(shape, std::span<const T>(mine))).to_host());
  });
  Values found;
  for (int id = 0; id < results.size(); ++id) found.push_back(results[id]);
  return found;
}

/// Numbers of the format with a sum of at most 24 bits in any order of additions: at most eight
/// numbers with `significand` bits, at most 2^spread apart in scale.
rc::Gen<Values> any_values(const Format& format, std::size_t replicas) {
  const int spread = 24 - format.significand - 3;
  const int highest = std::ilogb(format.most) + 1 - format.significand;
  const int first = *rc::gen::inRange(std::max(format.lowest, -60), std::min(highest, 60) + 1);
  const int last = std::min(first + spread, highest);
  const int bound = 1 << format.significand;
  const auto value =
      rc::gen::apply([](int digits, int unit) { return std::ldexp(digits, unit); },
                     rc::gen::inRange(1 - bound, bound), rc::gen::inRange(first, last + 1));
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  return rc::gen::container<Values>(replicas,
                                    rc::gen::container<std::vector<double>>(count, value));
}

bool on_one_gpu(const std::vector<int>& gpus) {
  return std::ranges::count(gpus, gpus[0]) == std::ssize(gpus);
}

template <class T>
void check_type(const std::vector<int>& gpus, std::uint64_t schedule) {
  const Format format = format_of<T>();
  const auto values = *any_values(format, gpus.size());
  const sim::SimulatedDriver machine({.gpus = kGpus, .seed = schedule});
  Backend backend(on(gpus));
  MirroredStrategy strategy(backend);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    const auto wanted = expected(values, op, format);
    for (const auto& found : all_reduced<T>(strategy, op, values)) RC_ASSERT(found == wanted);
  }
  // Core composes nothing: large reductions are NCCL's.
  RC_ASSERT((backend.statistics().nccl_collectives == 0) == on_one_gpu(gpus));
  RC_ASSERT(machine.reports() == std::vector<std::string>{});
}

RC_GTEST_PROP(SixteenBits, AreRoundedOnceOverAnyGpus, (std::uint64_t schedule)) {
  const auto replicas = *rc::gen::inRange<std::size_t>(2, kMostReplicas + 1);
  const auto gpus = *rc::gen::container<std::vector<int>>(replicas, rc::gen::inRange(0, kGpus));
  check_type<Float16>(gpus, schedule);
  check_type<BFloat16>(gpus, schedule);
}

const std::vector<std::vector<int>> kPlaces = {
    {0, 0, 0, 0}, {0, 1, 2, 3}, {0, 0, 1, 1}, {0, 1, 1, 0}, {1, 0, 2, 1}};

/// A Float16 for each device, and a second for its result.
struct Halves {
  explicit Halves(Backend& backend) {
    for (int rank = 0; rank < backend.device_count(); ++rank) {
      belfry::Device& device = backend.device(rank);
      belfry::Stream& stream = device.communication_stream();
      const auto put = [&](float value) {
        const Float16 narrow(value);
        const BufferView view = view_of(device.allocate(sizeof narrow, stream), DType::kFloat16);
        stream.write(view, &narrow);
        return view;
      };
      parts.push_back({put(60000.0F), put(7.0F), &stream});
    }
  }

  std::vector<CollectivePart> parts;
};

// The memory of the widened floats returns to the pool.
TEST(SixteenBits, KeepNoMemory) {
  for (const auto& gpus : kPlaces) {
    SCOPED_TRACE(::testing::PrintToString(gpus));
    const sim::SimulatedDriver machine({.gpus = kGpus});
    Backend backend(on(gpus));
    const auto clique = backend.communicator(first_ranks(4));
    const Halves halves(backend);
    const auto live = [&] {
      std::size_t buffers = 0;
      for (int rank = 0; rank < 4; ++rank) buffers += backend.device(rank).memory().live_buffers;
      return buffers;
    };
    const std::size_t before = live();
    for (int step = 0; step < 5; ++step) {
      clique->run({.kind = CollectiveKind::kAllReduce, .parts = halves.parts});
      for (const CollectivePart& part : halves.parts) part.stream->synchronize();
      EXPECT_EQ(live(), before);
    }
  }
}

}  // namespace
}  // namespace belfry::cuda::sixteen_bits_test
