// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "local_clique.h"

#include "check.h"
#include "current_gpu.h"
#include "kernel_launch.h"
#include "stream_handle.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace belfry::cuda {

LocalClique::LocalClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices)
    : Clique(shared, std::move(devices)), done_(shared) {
  for (int rank = 0; rank < size(); ++rank) ready_.push_back(std::make_unique<Event>(shared));
}

void LocalClique::do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  lead(0, parts, [&](Stream& leading) {
    for (std::size_t i = 0; i < tensors(parts); ++i) {
      reduce(op, tensor(parts, i), tensor(parts, i), leading);
    }
  });
}

void LocalClique::reduce_to_first(ReduceOp op, std::span<const CollectivePart> parts) {
  lead(0, parts, [&](Stream& leading) {
    for (std::size_t i = 0; i < tensors(parts); ++i) {
      reduce(op, tensor(parts, i), tensor(parts, i).first(1), leading);
    }
  });
}

void LocalClique::copy_from_first(std::span<const CollectivePart> parts) {
  lead(0, parts, [&](Stream& leading) {
    for (std::size_t i = 0; i < tensors(parts); ++i) {
      const auto own = tensor(parts, i);
      for (const CollectivePart& part : own) copy(part.output, own.front().output, leading);
    }
  });
}

void LocalClique::do_broadcast(int root, std::span<const CollectivePart> parts) {
  const BufferView& source = parts[static_cast<std::size_t>(root)].input;
  lead(root, parts, [&](Stream& leading) {
    for (const CollectivePart& part : parts) copy(part.output, source, leading);
  });
}

void LocalClique::do_all_gather(const Collective& collective) {
  const auto parts = collective.parts;
  lead(0, parts, [&](Stream& leading) {
    for (const CollectivePart& to : parts) {
      int rank = 0;
      for (const CollectivePart& from : parts) {
        copy(collective.slice(to.output, rank++), from.input, leading);
      }
    }
  });
}

// In place, a slice is read for the output of the same rank alone.
void LocalClique::do_reduce_scatter(const Collective& collective) {
  const auto parts = collective.parts;
  lead(0, parts, [&](Stream& leading) {
    std::vector<CollectivePart> slices(parts.begin(), parts.end());
    for (int rank = 0; rank < size(); ++rank) {
      const auto place = static_cast<std::size_t>(rank);
      if (parts[place].output.count == 0) continue;
      for (std::size_t from = 0; from < parts.size(); ++from) {
        slices[from].input = collective.slice(parts[from].input, rank);
      }
      reduce(collective.op, slices, parts.subspan(place, 1), leading);
    }
  });
}

void LocalClique::do_exchange(const Collective& collective) {
  std::vector<CollectivePart> involved;
  for (int rank = 0; rank < size(); ++rank) {
    if (!collective.involves(rank)) continue;
    involved.push_back(collective.parts[static_cast<std::size_t>(rank)]);
  }
  if (involved.empty()) return;
  Stream& leading = stream(involved.front());
  lead(leading, involved, buffers_of(collective.transfers), [&](Stream&) {
    for (const Transfer& one : collective.transfers) copy(one.output, one.input, leading);
  });
}

// All inputs to some of the outputs.
void LocalClique::reduce(ReduceOp op, std::span<const CollectivePart> inputs,
                         std::span<const CollectivePart> outputs, Stream& leading) {
  KernelCall call;
  call.kind = KernelKind::kReduceReplicas;
  call.parameters.reduce = op;
  call.parameters.order = ReductionOrder::kReplicaOrder;
  for (const CollectivePart& part : inputs) call.inputs.push_back(operand(part.input));
  for (const CollectivePart& part : outputs) call.outputs.push_back(operand(part.output));
  const CurrentGpu current(device(0).gpu());
  launch(call, leading.get());
  Counters::add(shared().counters.kernel_launches);
}

// Does `work` on the leader's stream, in order with every member's stream: the streams wait once
// for all tensors.
template <class Work>
void LocalClique::lead(int leader, std::span<const CollectivePart> parts, Work&& work) {
  Stream& leading = stream(parts[static_cast<std::size_t>(leader)]);
  const auto members = tensor(parts, 0);  // Their streams are those of all tensors.
  lead(leading, members, buffers_of(parts), std::forward<Work>(work));
}

// Holds the memory of all members before the first call that may fail.
template <class Work>
void LocalClique::lead(Stream& leading, std::span<const CollectivePart> members,
                       std::vector<BufferPtr> buffers, Work&& work) {
  Stream::Hold hold(leading, std::move(buffers));
  begin(leading, members);
  try {
    work(leading);
    hold.close();
  } catch (...) {
    // A part of the work may be enqueued and use the memory of all members. To let their streams
    // wait would need calls that may fail too: the host waits.
    leading.handle()->finish();
    throw;
  }
  end(leading, members);
  Counters::add(shared().counters.local_collectives);
}

// Lets the leader's stream continue after the present work of every member's stream.
void LocalClique::begin(Stream& leading, std::span<const CollectivePart> parts) {
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].stream == &leading) continue;
    parts[rank].stream->record(*ready_[rank]);
    leading.wait(*ready_[rank]);
  }
}

// Lets every member's stream continue after the collective: outputs are written and inputs read.
void LocalClique::end(Stream& leading, std::span<const CollectivePart> parts) {
  if (parts.size() > 1) leading.record(done_);
  for (const CollectivePart& part : parts) {
    if (part.stream != &leading) part.stream->wait(done_);
  }
}

void LocalClique::copy(const BufferView& to, const BufferView& from, Stream& stream) {
  void* destination = address(to);
  const void* source = address(from);
  if (from.bytes() == 0 || destination == source) return;
  BELFRY_CUDA_TRY(
      cudaMemcpyAsync(destination, source, from.bytes(), cudaMemcpyDeviceToDevice, stream.get()));
  shared().counters.copy.call(from.bytes());
}

KernelOperand LocalClique::operand(const BufferView& view) const {
  return {address(view), view.count, view.dtype};
}

}  // namespace belfry::cuda
