// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_clique.h"

#include "belfry/error.h"
#include "check.h"
#include "nccl_group.h"
#include "nccl_op.h"
#include "program_objects.h"
#include "wide_parts.h"
#include "work_trace.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace belfry::cuda {
namespace {

// The types that NCCL adds as belfry does: 16-bit floats are missing, since NCCL rounds each
// partial sum to the type.
std::optional<ncclDataType_t> type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ncclFloat32;
    case DType::kFloat64:
      return ncclFloat64;
    case DType::kInt8:
      return ncclInt8;
    case DType::kUInt8:
      return ncclUint8;
    case DType::kInt32:
      return ncclInt32;
    case DType::kUInt32:
      return ncclUint32;
    case DType::kInt64:
      return ncclInt64;
    case DType::kUInt64:
      return ncclUint64;
    default:
      return std::nullopt;
  }
}

ncclDataType_t required_type_of(DType dtype) {
  if (const auto type = type_of(dtype)) return *type;
  throw UnsupportedError(ErrorCode::kUnsupported, "NCCL cannot add " + to_string(dtype),
                         "cast to a wider type, or reduce with a named order");
}

}  // namespace

void NcclClique::require_addable(DType dtype) { required_type_of(dtype); }

bool NcclClique::supports(DType dtype) const { return reduces(dtype); }

bool NcclClique::reduces(DType dtype) {
  // WideParts has floats in place of 16-bit floats.
  const bool is_widened = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return is_widened || type_of(dtype).has_value();
}

NcclClique::NcclClique(const std::shared_ptr<SharedState>& shared,
                       const std::vector<Device*>& devices)
    : Clique(shared, devices), communicators_(communicators_of(*shared, devices, {})) {
  prepare(shared);
  const std::chrono::milliseconds limit = shared->options.work_deadline;
  if (limit.count() > 0) {
    const auto health = [] { return GroupHealth{}; };
    work_ = std::make_shared<PeerWork>(*shared, Peers{health, limit, false}, functions());
  }
  begin(shared->options.warm_up);
}

NcclClique::NcclClique(const std::shared_ptr<SharedState>& shared,
                       const std::vector<Device*>& devices, const NcclSpan& span, bool warm_up)
    : Clique(shared, devices, {.size = span.size, .first = span.first}),
      communicators_(communicators_of(*shared, devices, span)),
      work_(std::make_shared<PeerWork>(*shared, span.peers, functions())) {
  prepare(shared);
  begin(warm_up);
}

void NcclClique::begin(bool warm_up) {
  if (work_ != nullptr) shared().peer_works.add(work_);
  try {
    if (warm_up) this->warm_up();
  } catch (...) {
    if (work_ == nullptr) throw;
    shared().peer_works.remove(*work_);
    work_->end();
    throw;
  }
}

void NcclClique::prepare(const std::shared_ptr<SharedState>& shared) {
  for (int member = 0; member < members(); ++member) {
    done_.push_back(std::make_unique<Event>(shared));
    divisors_.emplace_back(device(member), size());
  }
}

NcclClique::~NcclClique() {
  if (work_ != nullptr) await_peers();
  // A failed collective may never end: it is aborted.
  if (communicators_.failed()) return;
  for (const auto& done : done_) {
    if (done->get() != nullptr) ignore_failure(cudaEventSynchronize(done->get()));
  }
}

// Afterwards the wait of the destructor depends on the own process alone.
void NcclClique::await_peers() noexcept {
  shared().peer_works.remove(*work_);
  try {
    PeerWait wait(work_->peers());
    while (!work_->is_done()) wait.pause("the end of a communicator");
  } catch (...) {
    work_->give_up(std::current_exception());
  }
  work_->end();
}

PeerWork::Clique NcclClique::functions() {
  return {.is_done = [this] { return is_done(); },
          .check = [this] { communicators_.check(); },
          .abort =
              [this] {
                stop_recording();
                communicators_.give_up();
              }};
}

bool NcclClique::is_done() const {
  return std::ranges::all_of(done_, [](const auto& done) { return done->query(); });
}

void NcclClique::check_health() {
  communicators_.check();
  Clique::check_health();
}

void NcclClique::do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  if (breaks_rules_of(op, parts[0].input.dtype)) return reduce_gathered(op, parts);
  const WideParts wide(parts);
  const ncclDataType_t type = required_type_of(wide.dtype());
  grouped(
      "an all-reduce", shared().counters.all_reduce, wide.parts(),
      [&](int member, const CollectivePart& part, cudaStream_t stream) {
        BELFRY_NCCL_TRY(ncclAllReduce(address(part.input), address(part.output), part.input.count,
                                      type, nccl_op_of(op), communicators_[member], stream));
      });
  for (std::size_t place = 0; place < parts.size(); ++place) {
    if (op == ReduceOp::kMean) divide(member_of(place), wide.parts()[place]);
    wide.round(place);
  }
}

// Each member gathers the inputs of all ranks, and a kernel of the member reduces them.
void NcclClique::reduce_gathered(ReduceOp op, std::span<const CollectivePart> parts) {
  std::vector<CollectivePart> gathered(parts.begin(), parts.end());
  for (CollectivePart& part : gathered) {
    const std::size_t bytes = part.input.bytes() * static_cast<std::size_t>(size());
    const BufferPtr room = part.stream->device().allocate(bytes, *part.stream);
    part.output = view_of(room, part.input.dtype);
  }
  grouped(
      "an all-reduce", shared().counters.all_reduce, gathered,
      [&](int member, const CollectivePart& part, cudaStream_t stream) {
        BELFRY_NCCL_TRY(ncclAllGather(address(part.input), address(part.output), part.input.bytes(),
                                      ncclUint8, communicators_[member], stream));
      });
  for (std::size_t place = 0; place < parts.size(); ++place) {
    Kernel kernel;
    kernel.kind = KernelKind::kReduceReplicas;
    kernel.parameters.reduce = op;
    for (int rank = 0; rank < size(); ++rank) {
      BufferView slice = gathered[place].output;
      slice.offset += parts[place].input.bytes() * static_cast<std::size_t>(rank);
      slice.count = parts[place].input.count;
      kernel.inputs.push_back(std::move(slice));
    }
    kernel.outputs = {parts[place].output};
    parts[place].stream->launch(std::move(kernel));
    mark_end(member_of(place), *parts[place].stream);
  }
}

void NcclClique::do_broadcast(int root, std::span<const CollectivePart> parts) {
  Counters::Verb& verb = shared().counters.broadcast;
  grouped("a broadcast", verb, parts,
          [&](int member, const CollectivePart& part, cudaStream_t stream) {
            const void* input = first_rank() + member == root ? address(part.input) : nullptr;
            BELFRY_NCCL_TRY(ncclBroadcast(input, address(part.output), part.output.bytes(),
                                          ncclUint8, root, communicators_[member], stream));
          });
}

// NCCL gathers parts of one size. Parts of several sizes are a broadcast from each rank.
void NcclClique::do_all_gather(const Collective& collective) {
  Counters::Verb& verb = shared().counters.all_gather;
  grouped("an all-gather", verb, collective.parts,
          [&](int member, const CollectivePart& part, cudaStream_t stream) {
            if (collective.counts.empty()) {
              BELFRY_NCCL_TRY(ncclAllGather(address(part.input), address(part.output),
                                            part.input.bytes(), ncclUint8, communicators_[member],
                                            stream));
              return;
            }
            for (int root = 0; root < size(); ++root) {
              const BufferView slice = collective.slice(part.output, root);
              if (slice.count == 0) continue;
              const void* input = first_rank() + member == root ? address(part.input) : nullptr;
              BELFRY_NCCL_TRY(ncclBroadcast(input, address(slice), slice.bytes(), ncclUint8, root,
                                            communicators_[member], stream));
            }
          });
}

// NCCL scatters slices of one size. Slices of several sizes are a reduction to each rank.
void NcclClique::do_reduce_scatter(const Collective& collective) {
  const DType dtype = collective.parts[0].output.dtype;
  if (breaks_rules_of(collective.op, dtype)) return reduce_received(collective);
  const ncclRedOp_t op = nccl_op_of(collective.op);
  const WideParts wide(collective);
  const ncclDataType_t type = required_type_of(wide.dtype());
  grouped("a reduce-scatter", shared().counters.reduce_scatter, wide.parts(),
          [&](int member, const CollectivePart& part, cudaStream_t stream) {
            if (collective.counts.empty()) {
              BELFRY_NCCL_TRY(ncclReduceScatter(address(part.input), address(part.output),
                                                part.output.count, type, op, communicators_[member],
                                                stream));
              return;
            }
            for (int root = 0; root < size(); ++root) {
              const BufferView slice = collective.slice(part.input, root);
              if (slice.count == 0) continue;
              void* output = first_rank() + member == root ? address(part.output) : nullptr;
              BELFRY_NCCL_TRY(ncclReduce(address(slice), output, slice.count, type, op, root,
                                         communicators_[member], stream));
            }
          });
  for (std::size_t place = 0; place < collective.parts.size(); ++place) {
    if (collective.op == ReduceOp::kMean) divide(member_of(place), wide.parts()[place]);
    wide.round(place);
  }
}

void NcclClique::reduce_slices_for(const Collective& larger, std::span<const CollectivePart> parts,
                                   std::span<const int> owners) {
  const ncclDataType_t type = required_type_of(parts[0].input.dtype);
  grouped(
      "a reduce-scatter", shared().counters.reduce_scatter, parts,
      [&](int member, const CollectivePart& part, cudaStream_t stream) {
        for (int rank = 0; rank < larger.ranks; ++rank) {
          const int owner = owners[static_cast<std::size_t>(rank)];
          const BufferView slice = larger.slice(part.input, rank);
          if (slice.count == 0) continue;
          const bool is_owner = first_rank() + member == owner;
          void* output = is_owner ? address(larger.slice(part.output, rank)) : nullptr;
          BELFRY_NCCL_TRY(ncclReduce(address(slice), output, slice.count, type,
                                     nccl_op_of(larger.op), owner, communicators_[member], stream));
        }
      });
}

// NCCL carries out all sends and receives of a group at once.
void NcclClique::do_exchange(const Collective& collective) {
  std::vector<Caller> callers;
  for (int member = 0; member < members(); ++member) {
    if (!collective.involves(member)) continue;
    const CollectivePart& part = collective.parts[static_cast<std::size_t>(member)];
    std::vector<BufferPtr> buffers;
    for (const Transfer& one : collective.transfers) {
      if (one.from == first_rank() + member) buffers.push_back(one.input.buffer);
      if (one.to == first_rank() + member) buffers.push_back(one.output.buffer);
    }
    callers.push_back({member, &stream(part), std::move(buffers)});
  }
  if (callers.empty()) return;
  const auto call = [&](int rank, int peer, const BufferView& view, bool sends) {
    if (!is_here(rank) || view.count == 0) return;
    const int member = rank - first_rank();
    const cudaStream_t own = stream(collective.parts[static_cast<std::size_t>(member)]).get();
    if (sends) {
      BELFRY_NCCL_TRY(
          ncclSend(address(view), view.bytes(), ncclUint8, peer, communicators_[member], own));
    } else {
      BELFRY_NCCL_TRY(
          ncclRecv(address(view), view.bytes(), ncclUint8, peer, communicators_[member], own));
    }
  };
  grouped("an exchange", shared().counters.exchange, std::move(callers), [&] {
    for (const Transfer& one : collective.transfers) {
      call(one.from, one.to, one.input, true);
      call(one.to, one.from, one.output, false);
    }
  });
}

// A call for each part of each tensor.
template <class Call>
void NcclClique::grouped(const char* what, Counters::Verb& verb,
                         std::span<const CollectivePart> parts, Call&& call) {
  const auto firsts = tensor(parts, 0);  // Their streams are those of all tensors.
  std::vector<Caller> callers;
  std::vector<cudaStream_t> streams;
  for (std::size_t member = 0; member < firsts.size(); ++member) {
    Caller& own = callers.emplace_back();
    own.member = static_cast<int>(member);
    own.stream = &stream(firsts[member]);
    streams.push_back(own.stream->get());
    for (std::size_t i = 0; i < tensors(parts); ++i) {
      for (BufferPtr& buffer : buffers_of(tensor(parts, i).subspan(member, 1))) {
        own.buffers.push_back(std::move(buffer));
      }
    }
  }
  grouped(what, verb, std::move(callers), [&] {
    for (std::size_t place = 0; place < parts.size(); ++place) {
      call(member_of(place), parts[place], streams[place % firsts.size()]);
    }
  });
}

// Only NCCL is called inside the group, and NCCL takes the GPU from the communicator. If another
// call failed inside the group, the end of the group would start the calls made before.
template <class Calls>
void NcclClique::grouped(const char* what, Counters::Verb& verb, std::vector<Caller> callers,
                         Calls&& calls) {
  if (work_ != nullptr) work_->require_usable();
  communicators_.require_usable();
  std::deque<Stream::Hold> holds;
  for (Caller& caller : callers) holds.emplace_back(*caller.stream, std::move(caller.buffers));
  const std::lock_guard lock(shared().launch_order);
  bool given = false;  // Perhaps only to some members. After the checks only NCCL can fail.
  try {
    NcclGroup group;
    given = true;
    calls();
    if (group.close() && communicators_.wait(what)) Counters::add(verb.host_waits);
    for (std::size_t i = 0; i < callers.size(); ++i) {
      holds[i].close();
      mark_end(callers[i].member, *callers[i].stream);
    }
  } catch (...) {
    if (given) stop_recording();
    if (given) communicators_.give_up();
    if (given && work_ != nullptr) work_->fail(std::current_exception());
    throw;
  }
  Counters::add(shared().counters.nccl_collectives);
}

void NcclClique::divide(int member, const CollectivePart& part) {
  divisors_[static_cast<std::size_t>(member)].divide(part.output, *part.stream);
  mark_end(member, *part.stream);
}

// Waits on other threads ask the same event.
void NcclClique::mark_end(int member, belfry::Stream& stream) {
  std::unique_lock<std::mutex> held;
  if (work_ != nullptr) held = work_->hold();
  stream.record(*done_[static_cast<std::size_t>(member)]);
}

// NCCL connects members and allocates at the first use of each of its algorithms. Small and large
// messages use different algorithms.
void NcclClique::warm_up() {
  const UntoldWork own;
  for (const std::size_t count : {std::size_t{1}, std::size_t{1} << 20}) {
    std::vector<CollectivePart> parts;
    for (int member = 0; member < members(); ++member) {
      belfry::Stream& stream = device(member).communication_stream();
      const BufferPtr buffer = device(member).allocate(count * sizeof(float), stream);
      const BufferView view = view_of(buffer, DType::kFloat32);
      Kernel zero;
      zero.outputs = {view};
      stream.launch(std::move(zero));
      parts.push_back({view, view, &stream});
    }
    run({.kind = CollectiveKind::kAllReduce, .parts = parts});
    for (const CollectivePart& part : parts) part.stream->synchronize();
  }
}

}  // namespace belfry::cuda
