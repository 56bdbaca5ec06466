// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

// Programs of streams, drawn at random. With a wait for every conflict they must have the results
// of the same operations in sequence, for any schedule; without one of the waits they must not.

namespace belfry::sim::stream_programs_test {
namespace {

constexpr std::size_t kCount = 4;
constexpr std::size_t kBuffers = 5;

// Unsigned: sums wrap around like device integers. The devices' type is int32.
using Cells = std::array<std::uint32_t, kCount>;
using Memory = std::vector<Cells>;

// A drawn operation: its kind, and numbers with a meaning for the kind.
using RawStep = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t>;

enum class StepKind {
  kFill,
  kAdd,
  kCopy,
  kWrite,
  kAllReduce,
  kBroadcast,
  kSynchronize,
  kQuery,
  kFillEnd,  // The cells from c on; so does the next.
  kCopyEnd,
};

struct Step {
  StepKind kind{};
  std::size_t stream = 0;  // Of two on each device.
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t c = 0;
  std::uint32_t value = 0;
};

struct Program {
  std::size_t devices = 1;
  std::vector<Step> steps;
};

Program program_from(std::uint8_t devices, const std::vector<RawStep>& raw) {
  Program program;
  program.devices = 1 + devices % 3;
  for (const auto& [kind, stream, a, b, c] : raw) {
    program.steps.push_back({static_cast<StepKind>(kind % 10), stream % (2 * program.devices),
                             a % kBuffers, b % kBuffers, c % kBuffers, c});
  }
  return program;
}

// The begin of the end of a buffer.
std::size_t end_of(const Step& step) { return step.c % kCount; }

// The sequential meaning of the operations, on plain arrays.
Memory in_order(const Program& program) {
  Memory memory(kBuffers);
  for (std::size_t i = 0; i < kBuffers; ++i) memory[i].fill(static_cast<std::uint32_t>(100 * i));
  for (const Step& step : program.steps) {
    const std::size_t root = step.b % program.devices;
    for (std::size_t cell = 0; cell < kCount; ++cell) {
      std::uint32_t sum = 0;
      for (std::size_t d = 0; d < program.devices; ++d) sum += memory[d][cell];
      const std::uint32_t sent = memory[root][cell];
      switch (step.kind) {
        case StepKind::kFill:
        case StepKind::kWrite:
          memory[step.a][cell] = step.value;
          break;
        case StepKind::kAdd:
          memory[step.a][cell] = memory[step.b][cell] + memory[step.c][cell];
          break;
        case StepKind::kCopy:
          memory[step.a][cell] = memory[step.b][cell];
          break;
        case StepKind::kFillEnd:
          if (cell >= end_of(step)) memory[step.a][cell] = step.value;
          break;
        case StepKind::kCopyEnd:
          if (cell >= end_of(step)) memory[step.a][cell] = memory[step.b][cell];
          break;
        case StepKind::kAllReduce:
        case StepKind::kBroadcast:
          for (std::size_t d = 0; d < program.devices; ++d) {
            memory[d][cell] = step.kind == StepKind::kAllReduce ? sum : sent;
          }
          break;
        case StepKind::kSynchronize:
        case StepKind::kQuery:
          break;
      }
    }
  }
  return memory;
}

// The same on streams: each operation waits for all earlier conflicting operations.
class OnStreams {
 public:
  OnStreams(const Program& program, const Options& options)
      : program_(program), backend_(options), uses_(kBuffers) {
    std::vector<int> all;
    for (int d = 0; d < static_cast<int>(program.devices); ++d) {
      all.push_back(d);
      created_.push_back(backend_.device(d).create_stream());
    }
    communicator_ = backend_.communicator(all);
    for (std::size_t i = 0; i < kBuffers; ++i) {
      Device& device = backend_.device(static_cast<int>(i % program.devices));
      views_.push_back(
          view_of(device.allocate(kCount * 4, device.compute_stream()), DType::kInt32));
      write(i, i, static_cast<std::uint32_t>(100 * i));
    }
  }

  Memory run() {
    for (const Step& step : program_.steps) take(step);
    Memory memory(kBuffers);
    for (std::size_t i = 0; i < kBuffers; ++i) {
      ordered({&stream(0)}, {i}, {}, [&] { stream(0).read(memory[i].data(), views_[i]); });
    }
    return memory;
  }

  std::uint64_t log_hash() const { return backend_.log().hash(); }

 private:
  struct Uses {
    std::shared_ptr<Event> written;
    std::vector<std::shared_ptr<Event>> read;
  };

  Stream& stream(std::size_t i) {
    const std::size_t place = i % (2 * program_.devices);
    const std::size_t device = place / 2;
    if (place % 2 == 0) return backend_.device(static_cast<int>(device)).compute_stream();
    return *created_[device];
  }

  void ordered(const std::vector<Stream*>& streams, const std::vector<std::size_t>& reads,
               const std::vector<std::size_t>& writes, const std::function<void()>& issue) {
    for (Stream* each : streams) {
      for (const std::size_t i : reads) {
        if (uses_[i].written != nullptr) each->wait(*uses_[i].written);
      }
      for (const std::size_t i : writes) {
        if (uses_[i].written != nullptr) each->wait(*uses_[i].written);
        for (const auto& event : uses_[i].read) each->wait(*event);
      }
    }
    issue();
    const std::shared_ptr<Event> done = backend_.device(0).create_event();
    streams.back()->record(*done);
    for (const std::size_t i : writes) uses_[i] = {done, {}};
    for (const std::size_t i : reads) uses_[i].read.push_back(done);
  }

  void write(std::size_t on, std::size_t to, std::uint32_t value) {
    Cells cells;
    cells.fill(value);
    ordered({&stream(on)}, {}, {to}, [&] { stream(on).write(views_[to], cells.data()); });
  }

  BufferView end(const Step& step, std::size_t of) const {
    BufferView view = views_[of];
    view.offset = 4 * end_of(step);
    view.count = kCount - end_of(step);
    return view;
  }

  void launch(const Step& step, Kernel kernel, const std::vector<std::size_t>& inputs) {
    kernel.outputs = {views_[step.a]};
    for (const std::size_t i : inputs) kernel.inputs.push_back(views_[i]);
    ordered({&stream(step.stream)}, inputs, {step.a},
            [&] { stream(step.stream).launch(std::move(kernel)); });
  }

  void collective(const Step& step) {
    std::vector<CollectivePart> parts;
    std::vector<Stream*> streams;
    std::vector<std::size_t> buffers;
    for (std::size_t d = 0; d < program_.devices; ++d) {
      streams.push_back(&stream(2 * d + step.stream % 2));
      parts.push_back({views_[d], views_[d], streams.back()});
      buffers.push_back(d);
    }
    ordered(streams, {}, buffers, [&] {
      if (step.kind == StepKind::kAllReduce) {
        communicator_->all_reduce(ReduceOp::kSum, parts);
      } else {
        communicator_->broadcast(static_cast<int>(step.b % program_.devices), parts);
      }
    });
  }

  void take(const Step& step) {
    Kernel kernel;
    switch (step.kind) {
      case StepKind::kFill:
        kernel.parameters.integer_scalar = step.value;
        return launch(step, std::move(kernel), {});
      case StepKind::kAdd:
        kernel.kind = KernelKind::kBinary;
        return launch(step, std::move(kernel), {step.b, step.c});
      case StepKind::kCopy:
        return ordered({&stream(step.stream)}, {step.b}, {step.a},
                       [&] { stream(step.stream).copy(views_[step.a], views_[step.b]); });
      case StepKind::kFillEnd:
        return ordered({&stream(step.stream)}, {}, {step.a}, [&] {
          kernel.parameters.integer_scalar = step.value;
          kernel.outputs = {end(step, step.a)};
          stream(step.stream).launch(std::move(kernel));
        });
      case StepKind::kCopyEnd:
        return ordered({&stream(step.stream)}, {step.b}, {step.a},
                       [&] { stream(step.stream).copy(end(step, step.a), end(step, step.b)); });
      case StepKind::kWrite:
        return write(step.stream, step.a, step.value);
      case StepKind::kAllReduce:
      case StepKind::kBroadcast:
        return collective(step);
      case StepKind::kSynchronize:
        return stream(step.stream).synchronize();
      case StepKind::kQuery:
        if (uses_[step.a].written != nullptr) uses_[step.a].written->query();
        return;
    }
  }

  const Program& program_;
  Backend backend_;
  std::vector<std::unique_ptr<Stream>> created_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<BufferView> views_;
  std::vector<Uses> uses_;
};

RC_GTEST_PROP(StreamPrograms, WithAllWaitsDoWhatTheyDoInOrder,
              (std::uint8_t devices, const std::vector<RawStep>& raw, std::uint64_t seed)) {
  const Program program = program_from(devices, raw);
  const int count = static_cast<int>(program.devices);
  const Memory expected = in_order(program);
  RC_ASSERT(OnStreams(program, {.devices = count, .schedule = Schedule::fixed()}).run() ==
            expected);
  for (std::uint64_t i = 0; i < 3; ++i) {
    RC_ASSERT(OnStreams(program, {.devices = count, .seed = seed + i}).run() == expected);
  }
}

// Programs and logs cannot see whether copies share their bytes.
RC_GTEST_PROP(StreamPrograms, AreTheSameWhereCopiesShareTheirBytes,
              (std::uint8_t devices, const std::vector<RawStep>& raw, std::uint64_t seed)) {
  const Program program = program_from(devices, raw);
  const auto options = [&](bool share) {
    return Options{.devices = static_cast<int>(program.devices),
                   .share_copies = share,
                   .digests = Digests::kAll,
                   .seed = seed};
  };
  OnStreams shared(program, options(true));
  OnStreams apart(program, options(false));
  const Memory expected = in_order(program);
  RC_ASSERT(shared.run() == expected);
  RC_ASSERT(apart.run() == expected);
  RC_ASSERT(shared.log_hash() == apart.log_hash());
}

// A conflict between two streams, ordered by a single wait, with unrelated work around.
struct Conflict {
  const char* name;
  // The work of the first and the second stream on buffers x and y; both hold 0 at first.
  std::function<void(Stream&, const BufferView& x, const BufferView& y)> first;
  std::function<void(Stream&, const BufferView& x, const BufferView& y)> second;
  std::uint32_t x = 0;  // In order.
  std::uint32_t y = 0;
};

void fill(Stream& stream, const BufferView& view, std::int64_t value) {
  Kernel kernel;
  kernel.parameters.integer_scalar = value;
  kernel.outputs = {view};
  stream.launch(std::move(kernel));
}

std::vector<Conflict> conflicts() {
  const auto fill_x = [](std::int64_t value) {
    return
        [value](Stream& stream, const BufferView& x, const BufferView&) { fill(stream, x, value); };
  };
  const auto copy = [](Stream& stream, const BufferView& x, const BufferView& y) {
    stream.copy(y, x);
  };
  return {{"read after write", fill_x(1), copy, 1, 1},
          {"write after read", copy, fill_x(1), 1, 0},
          {"write after write", fill_x(1), fill_x(2), 2, 0}};
}

// Whether x and y end as in order.
bool in_order(const Conflict& conflict, bool waits, int tail, std::uint64_t seed) {
  Backend backend{{.devices = 2, .seed = seed}};
  Stream& first = backend.device(0).compute_stream();
  Stream& second = backend.device(1).compute_stream();
  const auto make = [&](int device) {
    Device& on = backend.device(device);
    const BufferView view = view_of(on.allocate(4, on.compute_stream()), DType::kInt32);
    fill(on.compute_stream(), view, 0);
    on.compute_stream().synchronize();
    return view;
  };
  const BufferView x = make(0);
  const BufferView y = make(1);
  const BufferView unrelated_first = make(0);
  const BufferView unrelated_second = make(1);
  const auto event = backend.device(0).create_event();
  for (int i = 0; i < tail; ++i) fill(second, unrelated_second, i);
  for (int i = 0; i < tail; ++i) fill(first, unrelated_first, i);
  conflict.first(first, x, y);
  first.record(*event);
  if (waits) second.wait(*event);
  conflict.second(second, x, y);
  first.synchronize();
  second.synchronize();
  std::uint32_t x_end = 0;
  std::uint32_t y_end = 0;
  second.read(&x_end, x);
  second.read(&y_end, y);
  return x_end == conflict.x && y_end == conflict.y;
}

TEST(DroppedWait, IsFoundBySomeSeedAndAWaitHoldsForAll) {
  belfry::testing::asserts("SEM-72");
  for (const Conflict& conflict : conflicts()) {
    for (const int tail : {0, 1, 3}) {
      int wrong = 0;
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        EXPECT_TRUE(in_order(conflict, true, tail, seed)) << conflict.name << ", seed " << seed;
        wrong += !in_order(conflict, false, tail, seed);
      }
      EXPECT_GT(wrong, 0) << conflict.name << " after " << tail << " unrelated kernels";
    }
  }
}

// Gradients are computed on the compute streams and summed on the communication streams.
std::uint32_t summed_gradients(bool waits, std::uint64_t seed) {
  constexpr int kDevices = 4;
  Backend backend{{.devices = kDevices, .seed = seed}};
  std::vector<CollectivePart> parts;
  std::vector<int> all;
  for (int d = 0; d < kDevices; ++d) {
    Device& device = backend.device(d);
    const BufferView view = view_of(device.allocate(4, device.compute_stream()), DType::kInt32);
    fill(device.compute_stream(), view, 0);
    device.compute_stream().synchronize();
    parts.push_back({view, view, &device.communication_stream()});
    all.push_back(d);
  }
  const auto communicator = backend.communicator(all);
  for (int d = 0; d < kDevices; ++d) {
    Device& device = backend.device(d);
    fill(device.compute_stream(), parts[static_cast<std::size_t>(d)].input, d + 1);
    const auto event = device.create_event();
    device.compute_stream().record(*event);
    // The planted fault: one of the four waits is missing.
    if (waits || d != 2) device.communication_stream().wait(*event);
  }
  communicator->all_reduce(ReduceOp::kSum, parts);
  std::uint32_t sum = 0;
  parts[0].stream->read(&sum, parts[0].output);
  return sum;
}

TEST(DroppedWait, OfOneReplicaBeforeAnAllReduceIsFound) {
  std::set<std::uint32_t> sums;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    EXPECT_EQ(summed_gradients(true, seed), 10u) << seed;
    sums.insert(summed_gradients(false, seed));
  }
  // Replica 2's gradient of 3 is in the sum or not.
  EXPECT_EQ(sums, (std::set<std::uint32_t>{7, 10}));
}

}  // namespace
}  // namespace belfry::sim::stream_programs_test
