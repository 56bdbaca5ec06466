// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include "belfry/backend/collective.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/error.h"
#include "buffer.h"
#include "stream.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::sim {
namespace {

// The tensors of a command. The descriptions of this many stay in a processor's cache while the
// command runs.
constexpr std::size_t kTensorsAtOnce = 64;

// Reductions one after another: each has as many of the command's reads, and of its writes.
struct Reductions {
  void operator()(const engine::Command& own) const {
    KernelCall call;
    call.kind = KernelKind::kReduceReplicas;
    call.parameters.reduce = op;
    call.inputs.reserve(own.reads.size() / count);
    call.outputs.reserve(own.writes.size() / count);
    for (std::size_t reduction = 0; reduction < count; ++reduction) {
      give(call.inputs, own.reads, reduction);
      give(call.outputs, own.writes, reduction);
      run_on_host(call);
    }
  }
  void give(std::vector<KernelOperand>& operands, const std::vector<engine::Access>& accesses,
            std::size_t reduction) const {
    const std::size_t each = accesses.size() / count;
    operands.clear();
    for (const engine::Access& access : std::span(accesses).subspan(reduction * each, each)) {
      operands.push_back({address_of(access), bytes_of(access) / size_of(dtype), dtype});
    }
  }

  ReduceOp op;
  DType dtype;
  std::size_t count;
};

// A reduction for each of the command's writes, over the slice of each read that belongs to the
// write. In place, a slice is read for the write of the same rank alone.
struct Slices {
  void operator()(const engine::Command& own) const {
    KernelCall call;
    call.kind = KernelKind::kReduceReplicas;
    call.parameters.reduce = op;
    call.inputs.reserve(own.reads.size());
    call.outputs.reserve(1);
    std::size_t bytes = 0;
    for (const engine::Access& read : own.reads) bytes += bytes_of(read);
    for (const engine::Access& write : own.writes) bytes += bytes_of(write);
    std::size_t begin = 0;
    for (const engine::Access& write : own.writes) {
      const std::size_t count = bytes_of(write) / size_of(dtype);
      call.inputs.clear();
      for (const engine::Access& read : own.reads) {
        call.inputs.push_back({address_of(read) + begin, count, dtype});
      }
      call.outputs.assign(1, {address_of(write), count, dtype});
      reduce_on_host(call, bytes);
      begin += bytes_of(write);
    }
  }

  ReduceOp op;
  DType dtype;
};

// Collectives that run as one kernel over all members' memory, once all members' streams have got
// there. Adds up in replica order.
class SimCommunicator final : public Communicator {
 public:
  SimCommunicator(std::vector<int> devices, std::shared_ptr<engine::Engine> engine,
                  belfry::detail::FlightRing* flights);

  int size() const override { return static_cast<int>(devices_.size()); }
  std::span<const int> local_ranks() const override { return ranks_; }
  ReductionOrder order() const override { return ReductionOrder::kReplicaOrder; }
  void run(const Collective& given) override;
  void check_health() override { engine_->check_failures(); }

 private:
  void all_reduce(const Collective& collective);
  void broadcast(const Collective& collective);
  void all_gather(const Collective& collective);
  void reduce_scatter(const Collective& collective);
  void exchange(const Collective& collective);
  // The members that a chain of transfers joins have the same number.
  std::vector<int> groups_of(std::span<const Transfer> transfers) const;
  // A command with the accesses of `collective`, which is checked.
  engine::Command begin(const Collective& collective) const;
  // Checks a collective and appends its accesses.
  void add(const Collective& collective, engine::Command& command) const;
  // Throws InvalidArgumentError unless the stream of each part is of the device of its rank.
  void require_own_streams(std::span<const CollectivePart> parts, std::string_view name) const;
  // `root`: of a broadcast.
  void enqueue(std::span<const CollectivePart> parts, engine::Command command, int root = -1);
  void record(const CollectivePart& first, engine::Command& command, int root);

  std::vector<int> devices_;
  std::vector<int> ranks_;
  // Shared with the backend, which a communicator may outlive unused.
  std::shared_ptr<engine::Engine> engine_;
  belfry::detail::FlightRing* flights_;
  belfry::detail::FlightGroup* flight_group_ = nullptr;  // Null without a recorder.
};

SimCommunicator::SimCommunicator(std::vector<int> devices, std::shared_ptr<engine::Engine> engine,
                                 belfry::detail::FlightRing* flights)
    : devices_(std::move(devices)),
      ranks_(devices_.size()),
      engine_(std::move(engine)),
      flights_(flights) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
  if (flights_ == nullptr) return;
  flight_group_ = &flights_->add({.about = "communicator", .carrier = "sim", .own = devices_});
}

void SimCommunicator::run(const Collective& given) {
  const CallerScope caller(*engine_, __builtin_return_address(0), given);
  Collective collective = given;
  collective.ranks = size();
  collective.first = 0;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      return all_reduce(collective);
    case CollectiveKind::kBroadcast:
      return broadcast(collective);
    case CollectiveKind::kAllGather:
      return all_gather(collective);
    case CollectiveKind::kReduceScatter:
      return reduce_scatter(collective);
    case CollectiveKind::kExchange:
      return exchange(collective);
  }
}

// All tensors are checked before the first command is enqueued.
void SimCommunicator::all_reduce(const Collective& collective) {
  const auto collectives = collectives_of(collective.parts, size());
  std::vector<engine::Command> commands;
  for (std::size_t first = 0; first < collectives.size(); first += kTensorsAtOnce) {
    const std::size_t count = std::min(kTensorsAtOnce, collectives.size() - first);
    engine::Command& command = commands.emplace_back();
    command.name = to_string(CollectiveKind::kAllReduce);
    command.reads.reserve(count * devices_.size());
    command.writes.reserve(count * devices_.size());
    for (const auto& own : std::span(collectives).subspan(first, count)) {
      Collective one = collective;
      one.parts = own;
      add(one, command);
    }
    command.alike = true;
    command.op = collective.op;
    command.run = Reductions{collective.op, collective.parts.front().input.dtype, count};
  }
  require_own_streams(collectives.front(), commands.front().name);
  for (engine::Command& command : commands) enqueue(collectives.front(), std::move(command));
}

void SimCommunicator::broadcast(const Collective& collective) {
  engine::Command command = begin(collective);
  command.copies = true;
  command.run = [](const engine::Command& own) {
    const engine::Access& input = own.reads[0];
    for (const engine::Access& output : own.writes) {
      std::memmove(address_of(output), address_of(input), bytes_of(input));
    }
  };
  enqueue(collective.parts, std::move(command), collective.root);
}

void SimCommunicator::all_gather(const Collective& collective) {
  engine::Command command = begin(collective);
  command.run = [](const engine::Command& own) {
    for (const engine::Access& output : own.writes) {
      std::byte* slot = address_of(output);
      for (const engine::Access& input : own.reads) {
        std::memmove(slot, address_of(input), bytes_of(input));  // In place, if alone.
        slot += bytes_of(input);
      }
    }
  };
  enqueue(collective.parts, std::move(command));
}

void SimCommunicator::reduce_scatter(const Collective& collective) {
  engine::Command command = begin(collective);
  command.op = collective.op;
  command.run = Slices{collective.op, collective.parts.front().output.dtype};
  enqueue(collective.parts, std::move(command));
}

// A command for each group of members: members without a chain of transfers between them do not
// wait for each other.
void SimCommunicator::exchange(const Collective& collective) {
  validate(collective, size());
  require_own_streams(collective.parts, to_string(collective.kind));
  const ReplicaUse::Mark user = ReplicaUse::present();
  const std::vector<int> groups = groups_of(collective.transfers);
  std::map<int, engine::Command> commands;  // By group.
  for (const Transfer& one : collective.transfers) {
    engine::Command& command = commands[groups[static_cast<std::size_t>(one.from)]];
    command.name = to_string(collective.kind);
    command.reads.push_back(access_of(one.input, *engine_, command.name, user));
    command.writes.push_back(access_of(one.output, *engine_, command.name, user));
  }
  for (auto& [group, command] : commands) {
    command.run = [](const engine::Command& own) {
      for (std::size_t i = 0; i < own.reads.size(); ++i) {
        std::memmove(address_of(own.writes[i]), address_of(own.reads[i]), bytes_of(own.reads[i]));
      }
    };
    std::vector<CollectivePart> members;
    for (std::size_t member = 0; member < groups.size(); ++member) {
      if (groups[member] == group) members.push_back(collective.parts[member]);
    }
    enqueue(members, std::move(command));
  }
}

std::vector<int> SimCommunicator::groups_of(std::span<const Transfer> transfers) const {
  std::vector<int> groups = ranks_;
  for (const Transfer& one : transfers) {
    const auto [low, high] = std::minmax(groups[static_cast<std::size_t>(one.from)],
                                         groups[static_cast<std::size_t>(one.to)]);
    std::ranges::replace(groups, int{high}, int{low});
  }
  return groups;
}

engine::Command SimCommunicator::begin(const Collective& collective) const {
  engine::Command command;
  command.name = to_string(collective.kind);
  add(collective, command);
  require_own_streams(collective.parts, command.name);
  return command;
}

void SimCommunicator::add(const Collective& collective, engine::Command& command) const {
  validate(collective, size());
  const ReplicaUse::Mark user = ReplicaUse::present();
  for (int rank = 0; rank < size(); ++rank) {
    const CollectivePart& part = collective.parts[static_cast<std::size_t>(rank)];
    if (collective.reads_input_of(rank)) {
      command.reads.push_back(access_of(part.input, *engine_, command.name, user));
    }
    command.writes.push_back(access_of(part.output, *engine_, command.name, user));
  }
}

void SimCommunicator::require_own_streams(std::span<const CollectivePart> parts,
                                          std::string_view name) const {
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const int device = stream_of(*parts[rank].stream, *engine_).device().index();
    if (device == devices_[rank]) continue;
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               std::string(name) + ": rank " + std::to_string(rank) +
                                   " is device " + std::to_string(devices_[rank]) +
                                   ", its stream is of device " + std::to_string(device),
                               "give each rank a stream of its device", detail::submitting_site());
  }
}

// The states of the operations are those of the streams: a log or a schedule sees no difference.
void SimCommunicator::record(const CollectivePart& first, engine::Command& command, int root) {
  const BufferView& view = root >= 0 ? first.output : first.input;
  const belfry::detail::FlightTicket ticket =
      flights_->begin(*flight_group_, command.name.data(), belfry::detail::submitting_site());
  flights_->set_values(ticket, {.op = command.op,
                                .dtype = view.dtype,
                                .count = view.count,
                                .tensors = command.writes.size() / devices_.size(),
                                .root = root});
  command.done = [flights = flights_, ticket] {
    flights->set_state(ticket, belfry::detail::FlightState::kCompleted);
  };
}

void SimCommunicator::enqueue(std::span<const CollectivePart> parts, engine::Command command,
                              int root) {
  if (flight_group_ != nullptr) record(parts.front(), command, root);
  std::vector<engine::CommandQueue*> queues;
  queues.reserve(parts.size());
  for (const CollectivePart& part : parts) {
    queues.push_back(&stream_of(*part.stream, *engine_).queue());
  }
  engine_->enqueue_together(queues, std::move(command));
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(std::vector<int> devices,
                                                std::shared_ptr<engine::Engine> engine,
                                                belfry::detail::FlightRing* flights) {
  return std::make_unique<SimCommunicator>(std::move(devices), std::move(engine), flights);
}

}  // namespace belfry::sim
