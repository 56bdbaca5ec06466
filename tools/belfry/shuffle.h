// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace belfry::demo {

/// Random numbers from a counter: number i is a function of seed, stream and i alone, and the same
/// on every machine. (SplitMix64: a counter times an odd constant, then a mixing of bits.)
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream);

  std::uint64_t next();
  /// Uniform in [0, count); every value is equally likely. `count` is at least 1.
  std::uint64_t below(std::uint64_t count);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

/// 0 to count - 1 in an order chosen by the seed and the stream; all orders are equally likely.
std::vector<int> shuffled(int count, std::uint64_t seed, std::uint64_t stream);

/// The images for training, and the images for the judgement.
struct Split {
  std::vector<int> training;
  std::vector<int> held_out;
};

/// Four fifths to train on and the rest (rounded down) held out, shuffled by `seed`.
/// Throws: InvalidArgumentError (kFileFormat) for fewer than five images.
Split split(int count, std::uint64_t seed);

}  // namespace belfry::demo
