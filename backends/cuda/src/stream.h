// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/stream.h"
#include "device.h"
#include "stream_handle.h"

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace belfry::cuda {

/// A CUDA stream that is not ordered by the legacy default stream.
class Stream final : public belfry::Stream {
 public:
  Stream(Device& device, std::shared_ptr<DeviceState> state, Priority priority);
  ~Stream() override;

  belfry::Device& device() override { return device_; }
  void launch(Kernel kernel) override;
  void copy(BufferView to, BufferView from) override;
  void write(BufferView to, const void* from) override;
  void read(void* to, BufferView from) override;
  void record(belfry::Event& event) override;
  void wait(belfry::Event& event) override;
  void synchronize() override;

  cudaStream_t get() const { return handle_->get(); }
  const std::shared_ptr<StreamHandle>& handle() const { return handle_; }
  DeviceState& state() const { return *state_; }
  /// Keeps `buffers` until all work enqueued so far is done. Those at home here are freed in the
  /// order of this stream anyway and are let go at once.
  void hold(std::vector<BufferPtr> buffers);

 private:
  struct InFlight {
    cudaEvent_t done;
    std::vector<BufferPtr> buffers;
  };

  bool at_home(const BufferPtr& buffer) const;
  void let_go_of_finished();
  std::vector<BufferPtr> take_finished();

  Device& device_;
  std::shared_ptr<DeviceState> state_;    // with the Device and its buffers
  std::shared_ptr<StreamHandle> handle_;  // with buffers allocated here
  std::mutex mutex_;                      // for in_flight_
  std::deque<InFlight> in_flight_;
};

}  // namespace belfry::cuda
