// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/processes/reduction_fold.h"

#include "belfry/backend/host_visible.h"
#include "belfry/detail/process_tensors.h"
#include "run/processes/process_messages.h"
#include "run/processes/sent_structure.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

using Span = std::span<const std::byte>;

// A leaf of all replicas.
struct HostLeaf {
  DType dtype = DType::kFloat32;
  std::size_t count = 0;
  Shape shape{};
  std::vector<const std::byte*> inputs{};  // The elements, by replica, in the messages.

  std::size_t bytes() const { return count * size_of(dtype); }
};

// The values of all replicas, as far as hosts can reduce the values: the structures are equal byte
// by byte, and the elements are here.
class HostValues {
 public:
  // False for a value that hosts cannot reduce with the values before.
  bool add(Span message) {
    ByteReader in(message);
    const std::string transport = in.text();
    if (!transport.empty() && transport != kHeld) return false;
    const std::size_t replicas = in.count(sizeof(int));
    in.skip(replicas * sizeof(int));
    for (std::size_t left = replicas; left > 0; --left) {
      if (!add_replica(in)) return false;
    }
    replicas_ += replicas;
    return true;
  }

  ReduceOp op() const { return structure_->op; }
  std::size_t replicas() const { return replicas_; }
  const std::vector<HostLeaf>& leaves() const { return leaves_; }

 private:
  bool add_replica(ByteReader& in) {
    if (in.get<bool>()) {
      const std::size_t bytes = in.count(1);
      const Span sent(in.skip(bytes), bytes);
      if (!structure_) {
        structure_.emplace(sent, OwnTypes());
        leaves_.resize(structure_->leaves.size());
      }
      if (structure_->has_own_types || !same_bytes(sent, structure_->bytes)) return false;
    }
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const bool is_tensor = structure_->sizes[i] == SentStructure::kTensor;
      if (!(is_tensor ? add_tensor(in, leaves_[i]) : add_elements(in, i))) return false;
    }
    return true;
  }

  bool add_elements(ByteReader& in, std::size_t index) {
    HostLeaf& leaf = leaves_[index];
    leaf.dtype = structure_->leaves[index].dtype;
    leaf.count = structure_->leaves[index].count;
    leaf.inputs.push_back(in.skip(leaf.bytes()));
    require_elements(leaf.dtype, {leaf.inputs.back(), leaf.bytes()});
    return true;
  }

  // The first replica tells the type and the shape.
  static bool add_tensor(ByteReader& in, HostLeaf& leaf) {
    std::optional<SentTensor> sent = next_tensor(in);
    if (!sent || !sent->is_held) return false;
    if (leaf.inputs.empty()) {
      leaf.dtype = sent->dtype;
      leaf.count = static_cast<std::size_t>(sent->shape.count());
      leaf.shape = std::move(sent->shape);
    } else if (sent->dtype != leaf.dtype || sent->shape != leaf.shape) {
      return false;
    }
    leaf.inputs.push_back(sent->elements);
    return true;
  }

  std::optional<SentStructure> structure_;
  std::size_t replicas_ = 0;
  std::vector<HostLeaf> leaves_;
};

// The values by replica, in memory with the alignment of elements.
class HostParts {
 public:
  explicit HostParts(const HostValues& values) {
    std::size_t bytes = 0;
    for (const HostLeaf& leaf : values.leaves()) bytes += values.replicas() * aligned(leaf.bytes());
    room_ = std::make_unique_for_overwrite<Block[]>(bytes / sizeof(Block));
    auto* next = reinterpret_cast<std::byte*>(room_.get());
    parts_.resize(values.replicas());
    for (const HostLeaf& leaf : values.leaves()) {
      for (std::size_t replica = 0; replica < values.replicas(); ++replica) {
        if (leaf.count > 0) std::memcpy(next, leaf.inputs[replica], leaf.bytes());
        parts_[replica].push_back({.dtype = leaf.dtype, .count = leaf.count, .data = next});
        next += aligned(leaf.bytes());
      }
    }
  }

  std::span<const std::vector<LeafRef>> all() const { return parts_; }

 private:
  struct alignas(std::max_align_t) Block {
    std::byte bytes[alignof(std::max_align_t)];
  };
  static std::size_t aligned(std::size_t bytes) {
    return (bytes + sizeof(Block) - 1) / sizeof(Block) * sizeof(Block);
  }

  std::unique_ptr<Block[]> room_;
  std::vector<std::vector<LeafRef>> parts_;
};

const AllReduceRequest& request_of(MergeRequest* const* requests, int replica) {
  return static_cast<const AllReduceRequest&>(*requests[replica]);
}

// Puts a tensor on the device of the first replica with a value, and copies on the next devices.
void put_tensors(StrategyCore& core, MergeRequest* const* requests, const Participants& present,
                 std::size_t leaf, const std::byte* elements) {
  const AnyTensor& like = *request_of(requests, present.id(0)).leaves[leaf].tensor;
  const Placement place = core.placement(present.id(0));
  const AnyTensor result = AnyTensor::allocate(like.dtype(), like.shape(), place);
  if (result.view().count > 0) {
    auto& device = dynamic_cast<HostVisibleDevice&>(device_of(place));
    std::memcpy(device.fill_in_place(result.view()), elements, result.bytes());
  }
  for (int i = 0; i < present.count(); ++i) {
    const int replica = present.id(i);
    *request_of(requests, replica).leaves[leaf].tensor = result.copy_to(core.placement(replica));
  }
}

}  // namespace

std::optional<Bytes> fold_reduction(StrategyCore& core, std::span<const Span> messages) {
  if (core.reports_overflow()) return {};
  HostValues values;
  for (const Span& message : messages) {
    if (!values.add(message)) return {};
  }
  if (values.replicas() == 0) return {};
  const HostParts parts(values);
  core.reductions().reduce_on_host(values.op(), parts.all());
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(values.replicas()));
  for (const LeafRef& leaf : parts.all().front()) out.add(leaf.data, leaf.bytes());
  return out.bytes();
}

void take_reduction(StrategyCore& core, MergeRequest* const* requests, const Participants& present,
                    Span folded) {
  ByteReader in(folded);
  const auto replicas = in.get<std::uint64_t>();
  const std::vector<LeafRef>& leaves = request_of(requests, present.id(0)).leaves;
  core.reductions().count(leaves, static_cast<std::size_t>(replicas));
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const std::size_t bytes = leaves[leaf].bytes();
    const std::byte* const elements = in.skip(bytes);
    if (leaves[leaf].tensor != nullptr) {
      put_tensors(core, requests, present, leaf, elements);
      continue;
    }
    for (int i = 0; bytes > 0 && i < present.count(); ++i) {
      std::memcpy(request_of(requests, present.id(i)).leaves[leaf].data, elements, bytes);
    }
  }
}

}  // namespace belfry::detail
