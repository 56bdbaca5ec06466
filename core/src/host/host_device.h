// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/buffer.h"
#include "belfry/backend/host_visible.h"
#include "belfry/backend/kernel_failures.h"
#include "host/host_buffer.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace belfry::host {

/// The exception of a user's kernel, or of earlier work whose bytes were read. The next host wait
/// throws the exception (SEM-74).
struct HostFailure {
  std::exception_ptr exception;
  LostBytes::Room room;          ///< A range for each output of the kernel.
  bool told = false;             ///< A host wait has thrown the exception.
  bool told_to_replica = false;  ///< The host wait was a replica's.
};

// Shared by the streams and the events after the failed work.
using HostFailurePtr = std::shared_ptr<HostFailure>;

/// `failure` if the caller's next wait must throw the failure, else null. No wait throws a failure
/// after a wait outside replicas; after a wait of a replica, only waits of the rest of the replicas
/// do.
HostFailurePtr untold(const HostFailurePtr& failure);

class HostEvent final : public Event {
 public:
  /// Throws: the failure of the recorded work.
  void synchronize() override;
  bool query() override { return true; }

  HostFailurePtr failure;  ///< Of the work before the record.
};

/// Does everything at once. After the exception of a user's kernel, or a read of bytes without a
/// value, the stream skips work until a host wait has thrown the exception. Outputs of failed and
/// of skipped work have no value until written anew.
class HostStream final : public Stream {
 public:
  HostStream(Device& device, std::shared_ptr<KernelFailures> kernel_failures)
      : device_(device), kernel_failures_(std::move(kernel_failures)) {}

  Device& device() override { return device_; }
  void launch(Kernel kernel) override { launch(std::move(kernel), 0); }
  /// Launches a kernel, a reduction as a part of work over `bytes` of memory.
  void launch(Kernel kernel, std::size_t bytes);
  void copy(BufferView to, BufferView from) override;
  void write(BufferView to, const void* from) override;
  void read(void* to, BufferView from) override;
  void record(Event& event) override;
  void wait(Event& event) override;
  void synchronize() override;

  /// The failure for the next host wait, or null. Throws: ContextError (kWrongContext) in
  /// the body of a user's kernel.
  HostFailurePtr failure();
  /// Makes the stream skip work. A stream with a failure keeps its failure.
  void join_failure(const HostFailurePtr& failure);
  /// Makes the stream skip work if bytes of `input` have no value. Throws: std::bad_alloc.
  void require_value(const BufferView& input);

 private:
  void run_user(const Kernel& kernel, const KernelCall& call);
  // Outputs of skipped work have no value.
  void skip(const Kernel& kernel);
  void skip(const BufferView& output);

  Device& device_;
  std::shared_ptr<KernelFailures> kernel_failures_;  // Shared with the backend.
  HostFailurePtr failure_;
  HostFailurePtr spare_;  // For the next failure; of this stream alone.
};

/// The host stream behind `stream`, or null.
HostStream* host_stream(Stream* stream);

class HostDevice final : public Device, public ForeignMemoryDevice, public HostVisibleDevice {
 public:
  HostDevice(int index, std::shared_ptr<KernelFailures> failures)
      : index_(index),
        kernel_failures_(std::move(failures)),
        compute_(*this, kernel_failures_),
        communication_(*this, kernel_failures_) {}

  int index() const override { return index_; }
  DeviceSpec spec() const override;
  BufferPtr allocate(std::size_t bytes, Stream& stream) override;
  BufferPtr adopt(ForeignMemory memory, Stream& stream) override;
  MemoryPlace memory_place() const override { return {}; }
  void* lend(const BufferView& view, std::optional<std::int64_t> consumer_stream) override;
  const std::byte* read_in_place(const BufferView& view) override;
  std::byte* fill_in_place(const BufferView& view) override { return address_of(view); }
  Stream& compute_stream() override { return compute_; }
  Stream& communication_stream() override { return communication_; }
  std::unique_ptr<Stream> create_stream() override {
    return std::make_unique<HostStream>(*this, kernel_failures_);
  }
  std::unique_ptr<Event> create_event() override { return std::make_unique<HostEvent>(); }
  MemoryUse memory() const override { return meter_->use; }

 private:
  int index_;
  std::shared_ptr<KernelFailures> kernel_failures_;  // Shared with the backend.
  HostStream compute_;
  HostStream communication_;
  // Shared with the live buffers.
  std::shared_ptr<HostMeter> meter_ = std::make_shared<HostMeter>();
};

}  // namespace belfry::host
