// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "stream.h"

#include "belfry/backend/host_kernels.h"
#include "belfry/detail/flight_ring.h"
#include "belfry/error.h"
#include "check.h"
#include "current_gpu.h"
#include "event.h"
#include "kernel_launch.h"
#include "launched_kernel.h"
#include "ownership.h"
#include "peer_work.h"
#include "work_trace.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace belfry::cuda {
namespace {

// A limit for a host that never waits and would collect buffers without end.
constexpr std::size_t kMaxInFlight = 256;
constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
// With no more in flight nobody asks for the end of the work.
constexpr std::size_t kFewInFlight = 32;
constexpr std::size_t kFewBytesInFlight = std::size_t{1} << 20;

void require_equal_bytes(const BufferView& to, const BufferView& from) {
  if (to.bytes() == from.bytes()) return;
  throw InvalidArgumentError(ErrorCode::kShape, "a copy of " + std::to_string(from.bytes()) +
                                                    " bytes to " + std::to_string(to.bytes()));
}

}  // namespace

Stream::Stream(Device& device, std::shared_ptr<StreamHandle> handle, int ordinal)
    : device_(device),
      state_(handle->shared_device()),
      handle_(std::move(handle)),
      objects_(state_->gpu()),
      ordinal_(ordinal) {
  const std::lock_guard lock(state_->shared().streams_mutex);
  state_->shared().streams.push_back(this);
}

Stream::~Stream() {
  state_->shared().ended_in_bodies.let_go();
  {
    const std::lock_guard lock(state_->shared().streams_mutex);
    std::erase(state_->shared().streams, this);
  }
  if (in_flight_.empty() && objects_.empty()) return;
  handle_->finish();
}

void Stream::tell(std::string_view name) {
  const WorkTrace* const trace = state_->shared().work_trace;
  if (trace != nullptr && !UntoldWork::any())
    trace->enqueued({state_->index(), ordinal_}, ++told_, name);
}

void Stream::launch(Kernel kernel) {
  validate(kernel);
  tell(operation_name(kernel));
  std::vector<BufferPtr> buffers;
  const belfry::Buffer* latest = nullptr;
  for (const auto* views : {&kernel.outputs, &kernel.inputs}) {
    for (const BufferView& view : *views) {
      // Operands often have neighbours in one buffer.
      if (std::exchange(latest, view.buffer.get()) == view.buffer.get()) continue;
      require_reachable(own(state_->shared(), *view.buffer), state_->gpu());
      if (!needs_no_hold(view.buffer)) buffers.push_back(view.buffer);
    }
  }
  if (kernel.user != nullptr) {
    handle_->show_to_program();
    kernel.user =
        launched_kernel(std::move(kernel.user), state_->shared().kernel_failures, objects_);
  }
  Hold hold(*this, std::move(buffers));
  {
    const CurrentGpu current(state_->gpu());
    cuda::launch(resolve(kernel), get());
  }
  Counters::add(state_->shared().counters.kernel_launches);
  hold.close();
}

void Stream::copy(BufferView to, BufferView from) {
  const DeviceState& to_device = own(state_->shared(), to).state();
  const DeviceState& from_device = own(state_->shared(), from).state();
  require_equal_bytes(to, from);
  tell("copy");
  void* destination = address_of(state_->shared(), to);
  const void* source = address_of(state_->shared(), from);
  Hold hold(*this, {to.buffer, from.buffer});
  if (to.bytes() > 0 && destination != source) {
    if (to_device.is_host() || from_device.is_host()) {
      BELFRY_CUDA_TRY(cudaMemcpyAsync(destination, source, to.bytes(), cudaMemcpyDefault, get()));
    } else if (to_device.gpu() == from_device.gpu()) {
      BELFRY_CUDA_TRY(
          cudaMemcpyAsync(destination, source, to.bytes(), cudaMemcpyDeviceToDevice, get()));
    } else {
      BELFRY_CUDA_TRY(cudaMemcpyPeerAsync(destination, to_device.gpu(), source, from_device.gpu(),
                                          to.bytes(), get()));
    }
  }
  state_->shared().counters.copy.call(from.bytes());
  hold.close();
}

void Stream::write(BufferView to, const void* from) {
  void* destination = address_of(state_->shared(), to);
  tell("write");
  Hold hold(*this, {to.buffer});
  if (to.bytes() > 0) {
    const bool on_host = own(state_->shared(), to).state().is_host();
    state_->staging().write(destination, from, to.bytes(), get(),
                            on_host ? cudaMemcpyDefault : cudaMemcpyHostToDevice);
  }
  state_->shared().counters.write.call(to.bytes());
  hold.close();
}

void Stream::read(void* to, BufferView from) {
  const void* source = address_of(state_->shared(), from);
  const detail::FlightWait wait(state_->shared().options.recorder);
  await_peers();  // A copy to pageable memory waits for the stream itself.
  Hold hold(*this, {from.buffer});
  if (from.bytes() > 0) {
    const bool on_host = own(state_->shared(), from).state().is_host();
    const cudaMemcpyKind kind = on_host ? cudaMemcpyDefault : cudaMemcpyDeviceToHost;
    const cudaError_t code = cudaMemcpyAsync(to, source, from.bytes(), kind, get());
    check_wait(*state_->shared().kernel_failures, code, "cudaMemcpyAsync(to, from)",
               {__FILE__, __LINE__});
  }
  state_->shared().counters.read.call(from.bytes());
  finish(state_->shared().counters.read);
  hold.let_go();
  const WorkTrace* const trace = state_->shared().work_trace;
  if (trace != nullptr) trace->read(from, to);
}

void Stream::record(belfry::Event& event) { own(state_->shared(), event).record(*handle_); }

void Stream::wait(belfry::Event& event) {
  const Event& mine = own(state_->shared(), event);
  if (mine.get() == nullptr) return;
  BELFRY_CUDA_TRY(cudaStreamWaitEvent(get(), mine.get(), 0));
  handle_->enqueued();
  Counters::add(state_->shared().counters.event_waits);
}

void Stream::await_peers() {
  const auto is_done = [this] {
    const cudaError_t code = cudaStreamQuery(get());
    if (code == cudaErrorNotReady) {
      ignore_failure(code);
      return false;
    }
    check_wait(*state_->shared().kernel_failures, code, "cudaStreamQuery(stream)",
               {__FILE__, __LINE__});
    return true;
  };
  cuda::await_peers(state_->shared(), is_done);
}

void Stream::synchronize() {
  Counters::Verb& verb = state_->shared().counters.synchronize;
  verb.call(0);
  finish(verb);
}

void Stream::finish(Counters::Verb& verb) {
  Counters::add(verb.host_waits);
  const detail::FlightWait wait(state_->shared().options.recorder);
  await_peers();
  std::list<InFlight> earlier;  // Other threads may enqueue more work meanwhile.
  {
    const std::lock_guard lock(mutex_);
    earlier.swap(in_flight_);
    bytes_in_flight_ = 0;
  }
  const cudaError_t code = cudaStreamSynchronize(get());
  if (code != cudaSuccess) {
    const std::lock_guard lock(mutex_);
    for (const InFlight& work : earlier) bytes_in_flight_ += work.bytes;
    in_flight_.splice(in_flight_.begin(), earlier);
  }
  check_wait(*state_->shared().kernel_failures, code, "cudaStreamSynchronize(stream)",
             {__FILE__, __LINE__});
  earlier.clear();
  state_->shared().ended_in_bodies.let_go();
}

Stream::Hold::Hold(Stream& stream, std::vector<BufferPtr> buffers) : stream_(stream) {
  std::vector<std::shared_ptr<const void>> kept;
  std::size_t bytes = 0;
  for (const BufferPtr& buffer : buffers) {
    if (stream.needs_no_hold(buffer)) continue;
    if (kept.empty()) kept.reserve(buffers.size());
    kept.push_back(static_cast<const Buffer&>(*buffer).kept());
    // The program waits for the end of an owner of its own.
    bytes += buffer->is_foreign() ? kFewBytesInFlight : buffer->bytes();
  }
  if (kept.empty()) return;
  event_ = std::make_shared<const StoredEvent>(stream.state_);
  work_.push_back({nullptr, std::move(kept), bytes});
}

// Work enqueued before the exception cannot be told from work that was not enqueued.
Stream::Hold::~Hold() {
  if (!closed_) stream_.handle_->enqueued();
  if (!work_.empty()) stream_.put_in_flight(work_);
}

void Stream::Hold::close() {
  closed_ = true;
  stream_.handle_->enqueued();
  if (!work_.empty()) {
    work_.front().done = stream_.handle_->record(std::move(event_));
    stream_.put_in_flight(work_);
  }
  stream_.let_go_of_finished();
}

void Stream::Hold::let_go() noexcept { work_.clear(); }

void Stream::put_in_flight(std::list<InFlight>& work) noexcept {
  const std::lock_guard lock(mutex_);
  bytes_in_flight_ += work.front().bytes;
  in_flight_.splice(in_flight_.end(), work);
}

// Memory of the host, and memory with an owner, are not freed in the order of a stream: all work
// keeps them.
bool Stream::needs_no_hold(const BufferPtr& buffer) const {
  const auto& own = static_cast<const Buffer&>(*buffer);
  if (own.is_foreign()) return own.kept() == nullptr;
  return !state_->is_host() && &own.home() == handle_.get();
}

void Stream::let_go_of_finished() {
  // Buffers end outside the lock: freeing calls CUDA.
  const std::list<InFlight> finished = take_finished(kMaxInFlight, false);
  state_->shared().ended_in_bodies.let_go();
}

void Stream::let_go_of_work(SharedState& shared, bool waits) {
  shared.ended_in_bodies.let_go();
  std::list<InFlight> finished;
  const std::lock_guard lock(shared.streams_mutex);
  for (Stream* stream : shared.streams) {
    finished.splice(finished.end(), stream->take_finished(waits ? 0 : kAnyNumber, true));
  }
}

// Less work than this is asked for nothing: a question is a call of the driver for each collective.
bool Stream::has_much_in_flight() const {
  return in_flight_.size() > kFewInFlight || bytes_in_flight_ >= kFewBytesInFlight;
}

// Waits where more than `most` are in flight.
std::list<Stream::InFlight> Stream::take_finished(std::size_t most, bool all) {
  std::list<InFlight> finished;
  const std::lock_guard lock(mutex_);
  const auto marked_from = [this](std::list<InFlight>::iterator begin) {
    return std::find_if(begin, in_flight_.end(),
                        [](const InFlight& work) { return work.done != nullptr; });
  };
  while (all || has_much_in_flight()) {
    const auto first = marked_from(in_flight_.begin());
    if (first == in_flight_.end()) break;
    auto last = first;
    if (in_flight_.size() > most) {
      const auto is_done = [&] { return has_happened(first->done->get()); };
      cuda::await_peers(state_->shared(), is_done);
      Counters::add(state_->shared().counters.synchronize.host_waits);
      BELFRY_CUDA_TRY(cudaEventSynchronize(first->done->get()));
    } else if (!all) {
      // A single question about the first half; about the first work if much memory is kept.
      const auto half = static_cast<std::ptrdiff_t>((in_flight_.size() - 1) / 2);
      const auto middle = marked_from(std::next(in_flight_.begin(), half));
      if (middle != in_flight_.end()) last = middle;
    }
    if (!has_happened(last->done->get())) {
      if (last == first || bytes_in_flight_ < kFewBytesInFlight) break;
      last = first;
      if (!has_happened(first->done->get())) break;
    }
    const auto end = std::next(last);
    for (auto work = in_flight_.begin(); work != end; ++work) bytes_in_flight_ -= work->bytes;
    finished.splice(finished.end(), in_flight_, in_flight_.begin(), end);
  }
  return finished;
}

}  // namespace belfry::cuda
