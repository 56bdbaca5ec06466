// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs that break a condition about devices in a single way.
#include "belfry/tensor_ops.h"
#include "testing/bodies.h"
#include "testing/condition_pair.h"

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace belfry::sim::testing {
namespace {

constexpr float kOne = 1;
constexpr float kTwo = 2;

BufferView number_on(Backend& backend, int device, Stream& stream) {
  return view_of(backend.device(device).allocate(sizeof(float), stream), DType::kFloat32);
}

double value_of(Stream& stream, const BufferView& view) {
  float value = 0;
  stream.read(&value, view);
  return static_cast<double>(value);
}

// Two streams write a number.
double two_streams(Backend& backend, bool waits) {
  Stream& first = backend.device(0).compute_stream();
  const auto second = backend.device(0).create_stream();
  const BufferView view = number_on(backend, 0, first);
  first.write(view, &kOne);
  const auto event = backend.device(0).create_event();
  first.record(*event);
  if (waits) second->wait(*event);
  second->write(view, &kTwo);
  first.synchronize();
  return value_of(*second, view);
}

// Replica 1 begins a run, whose replica writes a number beside replica 0; or the write is in a run
// that a merge begins.
double nested_run(Backend& backend, bool in_a_merge) {
  const auto stream = backend.device(0).create_stream();
  const BufferView view = number_on(backend, 0, *stream);
  const auto write = [&](const float& number) { stream->write(view, &number); };
  // No replica uses the stack of the other.
  Bodies bodies(1, [&](int) { write(kTwo); });
  const auto inner = [&] { backend.executor().carry(1, bodies, {}); };
  (void)on_two(backend, [&](ReplicaContext& replica, int id) {
    if (id == 0) write(kOne);
    if (id == 1 && !in_a_merge) inner();
    if (in_a_merge) replica.merge_call([&](CrossReplicaContext&) { inner(); });
    return 0;
  });
  return value_of(*stream, view);
}

// The merge functions of two groups change a number, or one merge function of all replicas does.
double two_groups(Backend& backend, bool in_groups) {
  int order = 0;
  (void)on_two(backend, [&](ReplicaContext& replica, int id) {
    const auto note = [&](CrossReplicaContext&, const PerReplica<int>& ids) {
      for (const int& one : ids) order = 10 * order + one + 1;
    };
    if (in_groups) {
      replica.in(replica.strategy().groups({{0}, {1}})).merge_call(note, id);
    } else {
      replica.merge_call(note, id);
    }
    return 0;
  });
  return order;
}

// Memory of the program whose owner ends after the work of the device; or memory that the program
// changes after a wait.
double owned_memory(Backend& backend) {
  double ended = 0;
  {
    const std::shared_ptr<float> mine(new float(1), [&](const float* number) {
      ended = 1;
      delete number;
    });
    const auto x =
        Tensor<float>::over(Shape{1}, std::span(mine.get(), 1), Placement{&backend, 0}, mine);
    (void)multiply(x, 10);
  }
  pause(backend, 0);
  return ended;
}
double memory_of_the_program(Backend& backend) {
  std::vector<float> mine{1};
  const auto x = Tensor<float>::over(Shape{1}, std::span(mine), Placement{&backend, 0});
  const Tensor<float> product = multiply(x, 10);
  backend.device(0).compute_stream().synchronize();
  mine[0] = 7;
  return static_cast<double>(product.to_host()[0]);
}

// The answer of an event, or the wait for the event.
double question(Backend& backend, bool waits) {
  return on_two(backend, [&](ReplicaContext&, int id) {
    Device& device = backend.device(id);
    Stream& stream = device.compute_stream();
    stream.write(number_on(backend, id, stream), &kOne);
    const auto event = device.create_event();
    stream.record(*event);
    pause(backend, id);
    if (!waits) return event->query() ? 1 : 0;
    event->synchronize();
    return 1;
  });
}

// Replica 0 records an event after a write, and the stream of replica 1 waits for the event.
double event_of_two(Backend& backend, bool merges) {
  const auto writer = backend.device(0).create_stream();
  const auto reader = backend.device(1).create_stream();
  const BufferView view = number_on(backend, 0, *writer);
  writer->write(view, &kOne);
  writer->synchronize();
  const auto event = backend.device(0).create_event();
  return on_two(backend, [&](ReplicaContext& replica, int id) {
    double value = 0;
    if (id == 0) {
      writer->write(view, &kTwo);
      writer->record(*event);
    }
    if (merges) replica.merge_call([](CrossReplicaContext&) {});
    if (id == 1) {
      const BufferView copy = number_on(backend, 1, *reader);
      reader->wait(*event);
      reader->copy(copy, view);
      value = value_of(*reader, copy);
    }
    return value;
  });
}

// Streams of a device fail, one of each replica. The wait that hears of its failure first makes
// both usable.
double failures_of_a_device(Backend& backend, std::int32_t row) {
  Stream& filling = backend.device(0).compute_stream();
  const BufferView table = number_on(backend, 0, filling);
  const BufferView index = view_of(backend.device(0).allocate(4, filling), DType::kInt32);
  filling.write(table, &kOne);
  filling.write(index, &row);
  filling.synchronize();
  return on_two(backend, [&](ReplicaContext&, int id) {
    const auto stream = backend.device(0).create_stream();
    Kernel kernel;
    kernel.kind = KernelKind::kGatherRows;
    kernel.parameters.rows = 1;
    kernel.parameters.columns = 1;
    kernel.inputs = {index, table};
    kernel.outputs = {number_on(backend, 0, *stream)};
    stream->launch(std::move(kernel));
    pause(backend, id);
    try {
      stream->synchronize();
    } catch (const DeviceError&) {
      return 1;
    }
    return 0;
  });
}

// Each replica has a buffer of 400 bytes on device 0 for a while.
double buffers_in_turn(Backend& backend) {
  return on_two(backend, [&](ReplicaContext&, int id) {
    const BufferPtr buffer = backend.device(0).allocate(400, backend.device(0).compute_stream());
    pause(backend, id);
    return static_cast<int>(buffer->bytes());
  });
}

}  // namespace

ConditionPair device_pair_of(Breach breach) {
  const Options serial{.devices = 2, .schedule = Schedule::fixed()};
  switch (breach) {
    case Breach::kDeviceRace:
      return {.name = "DeviceRace",
              .broken = [](Backend& backend) { return two_streams(backend, false); },
              .near = [](Backend& backend) { return two_streams(backend, true); }};
    case Breach::kNestedRun:
      return {.name = "NestedRun",
              .broken = [](Backend& backend) { return nested_run(backend, false); },
              .near = [](Backend& backend) { return nested_run(backend, true); }};
    case Breach::kGroup:
      return {.name = "Group",
              .broken = [](Backend& backend) { return two_groups(backend, true); },
              .near = [](Backend& backend) { return two_groups(backend, false); },
              .single_outcome = "all replicas stand still while the groups merge, in one order"};
    case Breach::kProgramMemory:
      return {.name = "ProgramMemory", .broken = owned_memory, .near = memory_of_the_program};
    case Breach::kQuestion:
      return {.name = "Question",
              .broken = [](Backend& backend) { return question(backend, false); },
              .near = [](Backend& backend) { return question(backend, true); }};
    case Breach::kEventRace:
      return {.name = "EventRace",
              .broken = [](Backend& backend) { return event_of_two(backend, false); },
              .near = [](Backend& backend) { return event_of_two(backend, true); },
              .options = serial};
    case Breach::kFailedWork:
      return {.name = "FailedWork",
              .broken = [](Backend& backend) { return failures_of_a_device(backend, 1); },
              .near = [](Backend& backend) { return failures_of_a_device(backend, 0); }};
    case Breach::kShortage:
      return {.name = "Shortage",
              .broken = [](Backend&) -> double { throw std::bad_alloc(); },
              .near = [](Backend&) -> double { throw std::runtime_error("no memory"); },
              .single_outcome = "the memory of the machine decides, and no schedule"};
    case Breach::kMemoryLimit: {
      ConditionPair pair{.name = "MemoryLimit",
                         .broken = buffers_in_turn,
                         .near = buffers_in_turn,
                         .options = serial};
      pair.options.memory_limit_bytes = 799;
      pair.near_options.memory_limit_bytes = 800;
      return pair;
    }
    default:
      return {};
  }
}

}  // namespace belfry::sim::testing
