// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/collective.h"
#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

// A backend that counts what passes from device to device. The devices are those of HostBackend.
namespace belfry::testing {

struct Traffic {
  /// By the indices of sender and receiver. Links without a copy are missing.
  std::map<std::pair<int, int>, LinkTraffic> links{};
  /// Operands of kernels on a device other than the device that runs the kernel.
  std::size_t remote_operands = 0;
  /// Calls of a communicator.
  std::map<CollectiveKind, std::size_t> collectives{};
};

/// A communicator whose calls are counted.
class CountingCommunicator final : public Communicator {
 public:
  CountingCommunicator(std::unique_ptr<Communicator> inner, Traffic& traffic)
      : inner_(std::move(inner)), traffic_(traffic) {}

  int size() const override { return inner_->size(); }
  std::span<const int> local_ranks() const override { return inner_->local_ranks(); }
  ReductionOrder order() const override { return inner_->order(); }
  void run(const Collective& collective) override {
    traffic_.collectives[collective.kind] += 1;
    inner_->run(collective);
  }
  void check_health() override { inner_->check_health(); }

 private:
  std::unique_ptr<Communicator> inner_;
  Traffic& traffic_;
};

class CountingStream final : public Stream {
 public:
  CountingStream(Device& device, Stream& inner, Traffic& traffic)
      : device_(device), inner_(inner), traffic_(traffic) {}

  Stream& inner() { return inner_; }
  Device& device() override { return device_; }
  void launch(Kernel kernel) override {
    for (const BufferView& view : kernel.inputs) count_operand(view);
    for (const BufferView& view : kernel.outputs) count_operand(view);
    inner_.launch(std::move(kernel));
  }
  void copy(BufferView to, BufferView from) override {
    const std::pair link(from.buffer->device().index(), to.buffer->device().index());
    if (link.first != link.second && from.count != 0) {
      traffic_.links[link].copies += 1;
      traffic_.links[link].bytes += from.bytes();
    }
    inner_.copy(std::move(to), std::move(from));
  }
  void write(BufferView to, const void* from) override { inner_.write(std::move(to), from); }
  void read(void* to, BufferView from) override { inner_.read(to, std::move(from)); }
  void record(Event& event) override { inner_.record(event); }
  void wait(Event& event) override { inner_.wait(event); }
  void synchronize() override { inner_.synchronize(); }

 private:
  void count_operand(const BufferView& view) {
    if (view.buffer->device().index() != device_.index()) traffic_.remote_operands += 1;
  }

  Device& device_;
  Stream& inner_;
  Traffic& traffic_;
};

class CountingDevice final : public Device {
 public:
  CountingDevice(Device& inner, Traffic& traffic)
      : inner_(inner),
        compute_(*this, inner.compute_stream(), traffic),
        communication_(*this, inner.communication_stream(), traffic) {}

  int index() const override { return inner_.index(); }
  DeviceSpec spec() const override { return inner_.spec(); }
  BufferPtr allocate(std::size_t bytes, Stream& stream) override {
    return inner_.allocate(bytes, static_cast<CountingStream&>(stream).inner());
  }
  Stream& compute_stream() override { return compute_; }
  Stream& communication_stream() override { return communication_; }
  std::unique_ptr<Stream> create_stream() override { return inner_.create_stream(); }
  std::unique_ptr<Event> create_event() override { return inner_.create_event(); }
  MemoryUse memory() const override { return inner_.memory(); }

 private:
  Device& inner_;
  CountingStream compute_;
  CountingStream communication_;
};

/// Without a communicator all reductions are made of copies and kernels.
class CountingLinks final : public Backend {
 public:
  explicit CountingLinks(int devices, bool has_communicator = false)
      : inner_(devices), has_communicator_(has_communicator) {
    for (int index = 0; index < devices; ++index) {
      devices_.push_back(std::make_unique<CountingDevice>(inner_.device(index), traffic_));
    }
  }

  std::string_view name() const override { return "counting links"; }
  int device_count() const override { return inner_.device_count(); }
  DeviceSpec device_spec(int index) const override { return inner_.device_spec(index); }
  Device& device(int index) override { return *devices_.at(static_cast<std::size_t>(index)); }
  std::unique_ptr<Communicator> communicator(std::span<const int> devices) override {
    if (!has_communicator_) throw UnsupportedError(ErrorCode::kUnsupported, "no communicator");
    return std::make_unique<CountingCommunicator>(inner_.communicator(devices), traffic_);
  }
  Executor& executor() override { return inner_.executor(); }

  const Traffic& traffic() const { return traffic_; }

 private:
  HostBackend inner_;
  bool has_communicator_;
  Traffic traffic_;
  std::vector<std::unique_ptr<CountingDevice>> devices_;
};

}  // namespace belfry::testing
