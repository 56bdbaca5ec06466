// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "objects.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace belfry::engine {
class Engine;
}

namespace belfry::driver {

class JudgedEngine;

/// CUDA's default stream of each GPU, made at the first use. The default stream and the blocking
/// streams of a GPU wait for each other. Several threads may use the object.
class DefaultStreams {
 public:
  using StreamPtr = std::shared_ptr<StreamObject>;

  /// `numbers`: the next number of a stream.
  DefaultStreams(engine::Engine& engine, JudgedEngine& judged, std::atomic<std::int32_t>& numbers)
      : engine_(engine), judged_(judged), numbers_(numbers) {}

  /// The default stream of `gpu`.
  StreamPtr of(int gpu);
  void add_blocking(const StreamPtr& stream);
  void remove_blocking(const StreamPtr& stream);
  /// Orders later work of `stream`, if the default or a blocking stream, after the present work of
  /// the streams that `stream` waits for.
  void order(const StreamObject& stream);

 private:
  struct Group {
    StreamPtr standard;               // Null before the first use.
    std::vector<StreamPtr> blocking;  // In the order of their making.
  };

  engine::Engine& engine_;
  JudgedEngine& judged_;
  std::atomic<std::int32_t>& numbers_;
  std::mutex mutex_;
  std::map<int, Group> groups_;  // By GPU.
};

}  // namespace belfry::driver
