// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "device.h"
#include "stream_handle.h"
#include "stream_objects.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace belfry::cuda {

/// A CUDA stream that is not ordered by the legacy default stream.
class Stream final : public belfry::Stream {
 public:
  /// `ordinal`: among the streams of the device, in the order of their making.
  Stream(Device& device, std::shared_ptr<StreamHandle> handle, int ordinal);
  ~Stream() override;

  belfry::Device& device() override { return device_; }
  void launch(Kernel kernel) override;
  /// Tells the trace of work that the stream gets.
  void tell(std::string_view name);
  void copy(BufferView to, BufferView from) override;
  void write(BufferView to, const void* from) override;
  void read(void* to, BufferView from) override;
  void record(belfry::Event& event) override;
  void wait(belfry::Event& event) override;
  void synchronize() override;

  cudaStream_t get() const { return handle_->get(); }
  const std::shared_ptr<StreamHandle>& handle() const { return handle_; }
  DeviceState& state() const { return *state_; }
  /// The objects of users' kernels for this stream.
  StreamObjects& objects() { return objects_; }
  /// Releases the buffers that finished work has held, on all streams of the backend. `waits`:
  /// blocks the host until all work with buffers is finished. Throws: DeviceError with an error of
  /// the work.
  static void let_go_of_work(SharedState& shared, bool waits);

 private:
  struct InFlight {
    StoredEventPtr done;                            // null: the event of later work marks the end
    std::vector<std::shared_ptr<const void>> kept;  // memory, and owners of the program's memory
    std::size_t bytes;                              // of `kept`
  };

 public:
  /// Keeps the memory of buffers until the work that a stream gets during the life of the Hold is
  /// done. A Hold is made before the work is enqueued, and keeps the memory if an exception
  /// follows. All work goes through a Hold: later records are new points. Holds of a stream do not
  /// nest. Memory at home on the stream is freed in stream order,
  /// and released at once. Of memory of the program's own the Hold keeps the owner. The Hold keeps
  /// no reference to a buffer.
  class Hold {
   public:
    /// Throws: DeviceError; nothing can fail in keeping the buffers afterwards.
    Hold(Stream& stream, std::vector<BufferPtr> buffers);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

    /// Everything is enqueued. Throws: DeviceError; the buffers are kept then too.
    void close();
    /// Releases the buffers of finished work.
    void let_go() noexcept;

   private:
    Stream& stream_;
    StoredEventPtr event_;
    bool closed_ = false;
    std::list<InFlight> work_;  // At most 1 element: moved to the stream without a failure.
  };

 private:
  void put_in_flight(std::list<InFlight>& work) noexcept;
  void await_peers();
  void finish(Counters::Verb& verb);
  bool needs_no_hold(const BufferPtr& buffer) const;
  void let_go_of_finished();
  bool has_much_in_flight() const;
  std::list<InFlight> take_finished(std::size_t most, bool all);

  Device& device_;
  std::shared_ptr<DeviceState> state_;    // with the Device and its buffers
  std::shared_ptr<StreamHandle> handle_;  // with buffers allocated here
  std::mutex mutex_;                      // for both below
  std::list<InFlight> in_flight_;
  std::size_t bytes_in_flight_ = 0;
  StreamObjects objects_;  // End before the CUDA stream.
  int ordinal_;
  std::atomic<std::uint64_t> told_ = 0;  // Work.
};

}  // namespace belfry::cuda
