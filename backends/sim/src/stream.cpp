// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include "belfry/backend/current_slot.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/backend/unwatched.h"
#include "belfry/backend/user_kernel.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"
#include "bodies/checked_body.h"
#include "buffer.h"
#include "device.h"
#include "engine/access_check.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

// The bytes of a write, kept until the write reaches device memory.
class Staged {
 public:
  Staged(std::shared_ptr<engine::BlockPool> pool, const void* from, std::size_t bytes)
      : pool_(std::move(pool)), block_(pool_->take(bytes)) {
    std::memcpy(block_.data, from, bytes);
  }
  ~Staged() { pool_->give(block_); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  const std::byte* data() const { return block_.data; }

 private:
  std::shared_ptr<engine::BlockPool> pool_;
  engine::Block block_;
};

std::vector<KernelOperand> without_addresses(const std::vector<BufferView>& views) {
  std::vector<KernelOperand> operands;
  operands.reserve(views.size());
  for (const BufferView& view : views) operands.push_back({nullptr, view.count, view.dtype});
  return operands;
}

void give_addresses(std::vector<KernelOperand>& operands,
                    const std::vector<engine::Access>& accesses) {
  for (std::size_t i = 0; i < operands.size(); ++i) operands[i].data = address_of(accesses[i]);
}

// A validated kernel on its way through a queue. The addresses of its operands are known only at
// its run, for bytes shared by several buffers move at a write.
class KernelWork {
 public:
  explicit KernelWork(const Kernel& kernel);

  // The kernel on the current memory of `command`: the command's writes are the kernel's outputs,
  // its first reads the kernel's inputs.
  const KernelCall& at(const engine::Command& command);

 private:
  KernelCall call_;
};

KernelWork::KernelWork(const Kernel& kernel)
    : call_{kernel.kind, kernel.parameters, without_addresses(kernel.outputs),
            without_addresses(kernel.inputs), kernel.user} {}

const KernelCall& KernelWork::at(const engine::Command& command) {
  const detail::Unwatched unwatched;
  give_addresses(call_.outputs, command.writes);
  give_addresses(call_.inputs, command.reads);
  return call_;
}

// `gather_rows: indices[1] is 2, and the table has 2 rows`.
std::string text_of_bad_index(const KernelCall& call, std::int64_t position) {
  const KernelOperand& index = call.inputs[0];
  const KernelOperand& table =
      call.kind == KernelKind::kGatherRows ? call.inputs[1] : call.outputs[0];
  const std::int64_t value = index.dtype == DType::kInt32
                                 ? static_cast<const std::int32_t*>(index.data)[position]
                                 : static_cast<const std::int64_t*>(index.data)[position];
  std::string text = std::string(to_string(call.kind)) + ": indices[" + std::to_string(position) +
                     "] is " + std::to_string(value);
  if (call.parameters.columns == 0) return text;
  const auto columns = static_cast<std::size_t>(call.parameters.columns);
  return text + ", and the table has " + std::to_string(table.count / columns) + " rows";
}

// A body that throws may have written some of its outputs.
template <class Run>
void run_body(const Run& run, const engine::Command& command, KernelFailures& failures) {
  try {
    run();
  } catch (...) {
    throw engine::PartlyDone{failure_of_kernel(std::current_exception(), failures, command.name,
                                               command.site, command.replica)};
  }
}

// Runs a kernel. For an index without a row the simulator reports an error; hardware would skip the
// index.
void run_kernel(const KernelCall& call, const engine::Command& command) {
  const bool has_index =
      call.kind == KernelKind::kGatherRows || call.kind == KernelKind::kScatterRows;
  const std::int64_t bad = has_index ? first_bad_index(call) : -1;
  if (bad >= 0) {
    throw DeviceError(
        engine::report_on_work(ErrorCode::kOutOfBounds, text_of_bad_index(call, bad),
                               "check the indices, labels perhaps, against the number of rows",
                               command.site, command.replica));
  }
  run_on_host(call);
}

}  // namespace

SimStream::SimStream(Device& device, const Shared& shared, engine::QueueOptions options)
    : device_(device),
      engine_(shared.engine),
      owners_(shared.owners),
      staging_(shared.staging),
      kernel_failures_(shared.kernel_failures),
      check_kernels_(shared.check_kernels),
      queue_(engine_->create_queue(std::move(options))) {}

SimStream::~SimStream() { engine_->destroy_queue(queue_); }

void SimStream::launch(Kernel kernel) {
  const CallerScope caller(*engine_, __builtin_return_address(0), kernel.inputs, kernel.outputs);
  engine::Command command;
  command.name = operation_name(kernel);
  command.reads.reserve(kernel.inputs.size());
  command.writes.reserve(kernel.outputs.size());
  const ReplicaUse::Mark user = ReplicaUse::present();
  for (const BufferView& input : kernel.inputs) {
    command.reads.push_back(access_of(input, *engine_, command.name, user));
  }
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
    command.writes.push_back(access_of(kernel.outputs[i], *engine_, command.name, user));
    if (updates_output(kernel, i)) command.reads.push_back(command.writes.back());
  }
  validate(kernel, detail::submitting_site());
  if (kernel.user != nullptr) {
    prepare_body(kernel, command);
    kernel.user = nullptr;  // The command alone owns the body: its end follows the body.
  } else {
    command.run = [work = KernelWork(kernel)](const engine::Command& own) mutable {
      run_kernel(work.at(own), own);
    };
  }
  engine_->enqueue(queue_, std::move(command));
}

void SimStream::prepare_body(const Kernel& kernel, engine::Command& command) {
  require_on_host(*kernel.user, detail::submitting_site());
  command.is_users = true;
  command.calls_program = true;
  command.may_write_reads = !check_kernels_;  // Checks run the body on copies.
  command.scratch = kernel.user->count(OperandMode::kScratch);
  if (check_kernels_) {
    engine::Watch* const watch = engine_->watch();
    const engine::Launch launch =
        watch == nullptr ? engine::Launch{} : watch->launch_of(kernel.user.get());
    command.run = [work = KernelWork(kernel), failures = kernel_failures_, watch,
                   launch](const engine::Command& own) mutable {
      const engine::Watch::BodyStay stay(watch, launch, own, __builtin_frame_address(0));
      CheckedBody body(work.at(own));  // Without memory the engine calls again.
      run_body([&] { body.run(); }, own, *failures);
    };
  } else {
    command.run = [work = KernelWork(kernel),
                   failures = kernel_failures_](const engine::Command& own) mutable {
      const KernelCall& call = work.at(own);
      run_body([&] { run_user_kernel(call); }, own, *failures);
    };
  }
}

void SimStream::copy(BufferView to, BufferView from) {
  const CallerScope caller(*engine_, __builtin_return_address(0), to, from);
  engine::Command command;
  command.name = "copy";
  command.reads.push_back(access_of(from, *engine_, "copy"));
  command.writes.push_back(access_of(to, *engine_, "copy"));
  if (to.bytes() != from.bytes()) {
    throw InvalidArgumentError(
        ErrorCode::kShape,
        "a copy of " + std::to_string(from.bytes()) + " bytes to " + std::to_string(to.bytes()),
        "copy between views of equal size", detail::submitting_site());
  }
  command.copies = true;
  command.run = [](const engine::Command& own) {
    std::memmove(address_of(own.writes[0]), address_of(own.reads[0]), bytes_of(own.reads[0]));
  };
  engine_->enqueue(queue_, std::move(command));
}

void SimStream::write(BufferView to, const void* from) {
  const CallerScope caller(*engine_, __builtin_return_address(0), to);
  engine::Command command;
  command.name = "write";
  command.writes.push_back(access_of(to, *engine_, "write"));
  if (to.count == 0) return;
  detail::touched(from, to.bytes(), false, detail::submitting_site());
  const auto staged = std::make_shared<const Staged>(staging_, from, to.bytes());
  command.run = [staged](const engine::Command& own) {
    std::memcpy(address_of(own.writes[0]), staged->data(), bytes_of(own.writes[0]));
  };
  engine_->enqueue(queue_, std::move(command));
}

void SimStream::read(void* to, BufferView from) {
  const CallerScope caller(*engine_, __builtin_return_address(0), from);
  engine_->read(queue_, to, access_of(from, *engine_, "read"));
  detail::touched(to, from.bytes(), true, detail::submitting_site());
  owners_->release_ended();
}

void SimStream::record(Event& event) {
  const CallerScope caller(*engine_, __builtin_return_address(0));
  engine_->record(queue_, event_of(event, *engine_).point());
}

void SimStream::wait(Event& event) {
  const CallerScope caller(*engine_, __builtin_return_address(0));
  engine_->wait(queue_, event_of(event, *engine_).point());
}

void SimStream::synchronize() {
  const CallerScope caller(*engine_, __builtin_return_address(0));
  engine_->synchronize(queue_);
  owners_->release_ended();
}

SimStream& stream_of(Stream& stream, const engine::Engine& engine) {
  auto* const own = exact_cast<SimStream>(&stream);
  if (own == nullptr || &own->engine() != &engine) {
    throw InvalidArgumentError(ErrorCode::kForeignObject, "the stream belongs to another backend",
                               "use a stream of the backend that does the work",
                               detail::submitting_site());
  }
  return *own;
}

SimEvent& event_of(Event& event, const engine::Engine& engine) {
  auto* const own = exact_cast<SimEvent>(&event);
  if (own == nullptr || &own->engine() != &engine) {
    throw InvalidArgumentError(ErrorCode::kForeignObject, "the event belongs to another backend",
                               "use an event of the backend that does the work",
                               detail::submitting_site());
  }
  return *own;
}

}  // namespace belfry::sim
