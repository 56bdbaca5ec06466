// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cross_device_ops.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

struct AdditionTree;

/// Consecutive chunks of a tensor.
struct ChunkRange {
  int first = 0;  ///< The first chunk.
  int count = 1;  ///< The number of chunks: at least 1.

  bool operator==(const ChunkRange&) const = default;
};

/// `chunk 2`, `chunks 0 to 2`.
std::string to_string(const ChunkRange& range);

/// How a tensor of n elements is cut into K chunks.
enum class ChunkRule : std::uint8_t {
  kRoundedUp,      ///< n / K elements each, rounded up; the last chunks are shorter or empty.
  kRemainderLast,  ///< n / K elements each, rounded down; the last chunk has the rest as well.
};

/// `rounded up`, `remainder last`.
std::string to_string(ChunkRule rule);

/// The traffic from one member to another.
struct LinkTraffic {
  std::size_t copies = 0;  ///< The number of copies that are not empty.
  std::size_t bytes = 0;   ///< The bytes of all copies.

  bool operator==(const LinkTraffic&) const = default;
};

/// `2 copies, 96 bytes`.
std::string to_string(const LinkTraffic& traffic);

/// The steps of an all-reduce, for tensors of any length: in each step members add chunks of
/// others to their own, until each chunk has the inputs of all members; in later steps finished
/// chunks are copied to all members (SEM-147). Members are numbered from 0, in replica order.
struct ReductionPlan {
  /// A member adds up some chunks of the terms, and keeps the sum.
  struct Sum {
    int member = 0;            ///< The member that adds.
    ChunkRange chunks{};       ///< The chunks.
    std::vector<int> terms{};  ///< Members, in the order of additions; `member` is among them.

    /// Whether all members are equal.
    bool operator==(const Sum&) const = default;
  };
  /// A member takes over finished chunks.
  struct Copy {
    int from = 0;         ///< The member that has the chunks.
    int to = 0;           ///< The member that receives the chunks.
    ChunkRange chunks{};  ///< The chunks.

    /// Whether all members are equal.
    bool operator==(const Copy&) const = default;
  };

  int members = 1;                          ///< The number of members.
  int chunks = 1;                           ///< The number of chunks of each tensor.
  ChunkRule rule = ChunkRule::kRoundedUp;   ///< The lengths of the chunks.
  std::vector<std::vector<Sum>> sums{};     ///< The sums of each step; all of them at once.
  std::vector<std::vector<Copy>> copies{};  ///< The copies of each later step; all at once.

  /// The number of steps: members wait for one another before each.
  std::size_t steps() const { return sums.size() + copies.size(); }
  /// Where the chunks of a tensor of `elements` begin; the last number is `elements`.
  std::vector<std::size_t> chunk_begins(std::size_t elements) const;
  /// The traffic of a tensor, by sender and receiver; links without a copy are missing. Partial
  /// sums of 16-bit floats travel as floats (SEM-33).
  std::map<std::pair<int, int>, LinkTraffic> traffic(std::size_t elements, DType dtype) const;
  /// The additions of the elements of a chunk. The chunk is in range and the plan valid.
  AdditionTree additions(int chunk) const;

  bool operator==(const ReductionPlan&) const = default;
};

/// Throws InvalidArgumentError (kInvalidArgument) unless the plan is an all-reduce: members and
/// chunks are in range, no step reads what the step writes, every sum has each input once and all
/// members receive every finished chunk. The message names the step, the member and the chunk.
void validate(const ReductionPlan& plan, CallSite site = CallSite::here());

/// The steps, a line each, and the additions of each chunk.
std::string to_string(const ReductionPlan& plan);

namespace detail {
class PlanSchedule;
}

/// Carries out a ReductionPlan, with copies between devices, a kernel for each sum, and events
/// between the streams (SEM-147). A derived class says `name`, `order` and `plan`; `plan` always
/// has a value, and the same for the same number of members. A plan is checked at its first use,
/// and kept.
class PlannedAllReduce : public CrossDeviceOps {
 public:
  PlannedAllReduce();
  ~PlannedAllReduce() override;
  /// Order: as CrossDeviceOps::all_reduce.
  /// Throws: InvalidArgumentError (kInvalidArgument) if the plan is not valid, before any work is
  /// enqueued.
  void all_reduce(const TensorReduction& reduction) final;

 private:
  std::shared_ptr<const detail::PlanSchedule> schedule(int members);

  std::mutex mutex_;
  std::map<int, std::shared_ptr<const detail::PlanSchedule>> schedules_;
};

/// The order of the members in a ring, and the chunks.
struct RingOptions {
  /// The number of hosts, each with N / hosts neighbouring replicas.
  int hosts = 1;
  /// The order of the replicas of a host, numbered from 0; the hosts follow one another in the
  /// ring. Empty: replica order.
  std::vector<int> permutation{};
  /// The number of rings, from 1 to M for M replicas of a host, each with a chunk for every member.
  /// Ring s has the replicas of each host turned by s * (M / subchunks) places, rounded down. More
  /// rings use more links between hosts at once, and cut tensors into smaller pieces.
  int subchunks = 1;
  /// Chunk c of a ring starts at place c + start. The rings of TensorFlow's graphs have 1.
  int start = 0;
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const RingOptions& options);

/// A ring of copies, for long tensors: each link carries the least bytes, 2 (N - 1) / N of the
/// tensor, in 2 (N - 1) steps. A tensor is cut into as many chunks as there are members (see
/// SEM-32), and each member copies from its left neighbour only: in the first N - 1 steps partial
/// sums, to which the member adds its own chunk, and in the last N - 1 steps finished chunks.
/// Partial sums of 16-bit floats are floats on the way. The order is ring order, and unspecified
/// with options.
class RingAllReduce final : public PlannedAllReduce {
 public:
  RingAllReduce() = default;
  /// Throws: InvalidArgumentError (kInvalidArgument) if `permutation` is not a permutation, or a
  /// number is out of range.
  explicit RingAllReduce(RingOptions options, CallSite site = CallSite::here());
  /// `ring`.
  std::string_view name() const override { return "ring"; }
  /// The options fit N replicas if N is a multiple of `hosts`, the permutation has N / hosts
  /// numbers or none, and there are at most N / hosts subchunks.
  void require_fit(const ReplicaDevices& devices) const override;
  /// Ring order; unspecified with a permutation, subchunks or a start.
  ReductionOrder order(ReplicaDevices& devices) const override;
  /// Fewer members than replicas form a ring in replica order, without options.
  std::optional<ReductionPlan> plan(int members) const override;
  /// The members in the order of each ring.
  std::vector<std::vector<int>> rings(int members) const;

 private:
  bool fits(int members) const;

  RingOptions options_;
  CallSite site_{};
};

/// A balanced binary tree, for short tensors: 2 ceil(log2 N) steps, and each link carries the whole
/// tensor. In step k = 0, 1, ... member i adds the sum of member i + 2^k to its own, for each i
/// that 2^(k + 1) divides, until member 0 has the sum of all. The result goes down the same tree.
/// The order is tree order.
class TreeAllReduce final : public PlannedAllReduce {
 public:
  /// `tree`.
  std::string_view name() const override { return "tree"; }
  /// Tree order.
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kTree; }
  /// The steps of all members.
  std::optional<ReductionPlan> plan(int members) const override;
};

/// Recursive halving and doubling, with P the largest power of two up to N. The first 2 (N - P)
/// members form pairs, in each of which the lower member adds the tensor of the upper; P members
/// are left. In step k = 0, 1, ... the members a and a + 2^k of these exchange and add halves of
/// the chunks that they still have, until each has the sum of one chunk of P; then they exchange
/// finished chunks in the opposite order, and the upper members of the pairs receive the result.
/// 2 log2 P steps, and 2 more unless N is P; a member sends 2 (P - 1) / P of the tensor. The order
/// is tree order if N is P, and else the balanced tree of the pairs and of the members alone.
class HalvingDoublingAllReduce final : public PlannedAllReduce {
 public:
  /// `halving and doubling`.
  std::string_view name() const override { return "halving and doubling"; }
  /// Tree order if the number of replicas is a power of two, else unspecified.
  ReductionOrder order(ReplicaDevices& devices) const override;
  /// The steps of all members.
  std::optional<ReductionPlan> plan(int members) const override;
};

/// Every shard of the tensor is added up by one member, in replica order, and copied to all. Two
/// steps; with N shards each link carries 2 / N of the tensor. The shards have n / S elements,
/// rounded down, and the last has the rest as well. Shard s belongs to member s modulo N.
class ShuffleAllReduce final : public PlannedAllReduce {
 public:
  /// `shards`: S, or 0 for N.
  /// Throws: InvalidArgumentError (kInvalidArgument) if negative.
  explicit ShuffleAllReduce(int shards = 0, CallSite site = CallSite::here());
  /// `shuffle`.
  std::string_view name() const override { return "shuffle"; }
  /// Replica order.
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kReplicaOrder; }
  /// The steps of all members.
  std::optional<ReductionPlan> plan(int members) const override;

 private:
  int shards_ = 0;
};

/// Two levels. The first member of each group adds up the group, in replica order; the first member
/// of the first group adds up the groups, in their order; and the result goes back the same way.
/// Four steps; each link carries the whole tensor. The order is that of the groups: unspecified.
class HierarchicalAllReduce final : public PlannedAllReduce {
 public:
  /// Groups of ceil(sqrt N) members each, in replica order; the last group may be smaller.
  HierarchicalAllReduce() = default;
  /// Groups of replicas with fast links among them: each replica is in one group, and no group is
  /// empty.
  /// Throws: InvalidArgumentError (kInvalidArgument).
  explicit HierarchicalAllReduce(std::vector<std::vector<int>> groups,
                                 CallSite site = CallSite::here());
  /// `hierarchical`.
  std::string_view name() const override { return "hierarchical"; }
  /// The groups fit as many replicas as they have.
  void require_fit(const ReplicaDevices& devices) const override;
  /// Unspecified: no enumerator has the order of groups.
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kUnspecified; }
  /// Fewer members than replicas form groups of ceil(sqrt N).
  std::optional<ReductionPlan> plan(int members) const override;

 private:
  std::vector<std::vector<int>> groups_;
  CallSite site_{};
};

}  // namespace belfry
