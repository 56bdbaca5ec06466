// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "testing/drawn_numbers.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace belfry::sim::testing {

/// A step of a replica: its kind, and numbers with a meaning for the kind.
struct RawStep {
  enum class Kind : std::uint8_t {
    kFill,    ///< Buffer a becomes the number b + 1.
    kAdd,     ///< Buffer a becomes the sum of a, doubled, and b.
    kCopy,    ///< Buffer a becomes b.
    kRecord,  ///< Event a.
    kWait,    ///< For event a.
    kHost,    ///< The host waits for the stream.
    kRead,    ///< The host reads buffer a.
    kMerge,   ///< A merge, whose function fills buffer a if b is even.
  };
  static constexpr int kKinds = 8;

  Kind kind{};
  std::size_t stream = 0;
  std::size_t a = 0;
  std::size_t b = 0;
};

/// A program of two replicas on two devices. All agents share streams, buffers and events, unless
/// the program is private: most shared programs have races.
struct RawProgram {
  static constexpr std::size_t kStreams = 2;
  static constexpr std::size_t kBuffers = 2;
  static constexpr std::size_t kEvents = 2;

  std::array<std::vector<RawStep>, 2> replicas;

  /// Whether each replica uses a stream, a buffer and an event of its own: no race by construction.
  bool is_private = false;

  /// Draws a program from `seed`. Both replicas have the same merges.
  static RawProgram draw(std::uint64_t seed, std::size_t steps, bool is_private = false);
};

/// The numbers that a program has read, in the order of each replica, and the buffers at its end.
using RawOutcome = std::vector<std::int32_t>;

/// Runs programs on a backend of two devices.
class RawRun {
 public:
  explicit RawRun(Backend& backend) : strategy_(backend) {
    for (std::size_t i = 0; i < RawProgram::kStreams; ++i) {
      streams_.push_back(backend.device(static_cast<int>(i % 2)).create_stream());
    }
    Stream& first = *streams_[0];
    for (std::size_t i = 0; i < RawProgram::kBuffers; ++i) {
      buffers_.push_back(view_of(backend.device(0).allocate(4, first), DType::kInt32));
      // Zeros would hide the order of additions and copies.
      fill(first, buffers_.back(), static_cast<std::int64_t>(3 + 4 * i));
    }
    for (std::size_t i = 0; i < RawProgram::kEvents; ++i) {
      events_.push_back(backend.device(0).create_event());
    }
    first.synchronize();
  }

  RawOutcome run(const RawProgram& program) {
    std::array<RawOutcome, 2> reads;
    strategy_.run([&](ReplicaContext& replica) {
      const auto id = static_cast<std::size_t>(replica.replica_id());
      for (const RawStep& step : program.replicas[id]) take(replica, step, reads[id]);
    });
    for (const auto& stream : streams_) stream->synchronize();
    RawOutcome outcome = reads[0];
    outcome.insert(outcome.end(), reads[1].begin(), reads[1].end());
    for (const BufferView& buffer : buffers_) outcome.push_back(read(*streams_[0], buffer));
    return outcome;
  }

 private:
  static void fill(Stream& stream, const BufferView& to, std::int64_t value) {
    Kernel kernel;
    kernel.parameters.integer_scalar = value;
    kernel.outputs = {to};
    stream.launch(std::move(kernel));
  }
  static std::int32_t read(Stream& stream, const BufferView& from) {
    std::int32_t value = 0;
    stream.read(&value, from);
    return value;
  }

  // a := 2 a + b, in two kernels: sums alone would hide their order.
  void add(Stream& stream, const BufferView& a, const BufferView& b) {
    for (const BufferView* with : {&a, &b}) {
      Kernel kernel;
      kernel.kind = KernelKind::kBinary;
      kernel.inputs = {a, *with};
      kernel.outputs = {a};
      stream.launch(std::move(kernel));
    }
  }

  void take(ReplicaContext& replica, const RawStep& step, RawOutcome& reads) {
    Stream& stream = *streams_[step.stream % RawProgram::kStreams];
    const BufferView& a = buffers_[step.a % RawProgram::kBuffers];
    const BufferView& b = buffers_[step.b % RawProgram::kBuffers];
    Event& event = *events_[step.a % RawProgram::kEvents];
    switch (step.kind) {
      case RawStep::Kind::kFill:
        return fill(stream, a, static_cast<std::int64_t>(step.b) + 1);
      case RawStep::Kind::kAdd:
        return add(stream, a, b);
      case RawStep::Kind::kCopy:
        return stream.copy(a, b);
      case RawStep::Kind::kRecord:
        return stream.record(event);
      case RawStep::Kind::kWait:
        return stream.wait(event);
      case RawStep::Kind::kHost:
        return stream.synchronize();
      case RawStep::Kind::kRead:
        return reads.push_back(read(stream, a));
      case RawStep::Kind::kMerge:
        return replica.merge_call([&](CrossReplicaContext&) {
          if (step.b % 2 == 0) fill(stream, a, static_cast<std::int64_t>(step.b) + 50);
        });
    }
  }

  MirroredStrategy strategy_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<BufferView> buffers_;
  std::vector<std::unique_ptr<Event>> events_;
};

inline RawProgram RawProgram::draw(std::uint64_t seed, std::size_t steps, bool is_private) {
  DrawnNumbers numbers(seed);
  RawProgram program;
  program.is_private = is_private;
  for (std::size_t position = 0; position < steps; ++position) {
    std::array<RawStep, 2> both;
    for (std::size_t i = 0; i < both.size(); ++i) {
      RawStep& step = both[i];
      // Replica by replica: a merge of both comes from a number of its own.
      step.kind = static_cast<RawStep::Kind>(numbers.below(RawStep::kKinds - 1));
      step.stream = numbers.below(kStreams);
      step.a = numbers.below(8);
      step.b = numbers.below(8);
      if (is_private) step.stream = step.a = step.b = i;
    }
    if (numbers.below(4) == 0) {
      both[0].kind = RawStep::Kind::kMerge;
      both[1] = both[0];
    }
    for (std::size_t i = 0; i < both.size(); ++i) program.replicas[i].push_back(both[i]);
  }
  return program;
}

/// `fill S0 B1 2`, for example: the step, the stream, and the numbers.
inline std::string to_string(const RawStep& step) {
  constexpr const char* kNames[] = {"fill", "add",  "copy", "record",
                                    "wait", "host", "read", "merge"};
  return std::string(kNames[static_cast<std::size_t>(step.kind)]) + " S" +
         std::to_string(step.stream) + '(' + std::to_string(step.a) + ',' + std::to_string(step.b) +
         ')';
}

/// A line for each replica.
inline std::string to_string(const RawProgram& program) {
  std::string text = program.is_private ? "raw streams, private" : "raw streams";
  for (const auto& steps : program.replicas) {
    text += "\n ";
    for (const RawStep& step : steps) text += ' ' + to_string(step);
  }
  return text;
}

}  // namespace belfry::sim::testing
