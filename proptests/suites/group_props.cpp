// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-270 to SEM-275, SEM-288: groups of replicas and meshes. The second implementation has a
// number for each replica and the drawn members of each group, and adds up in loops; of a mesh the
// second implementation has coordinates alone. Numbers are integers: sums are exact.
#include "belfry/group_context.h"
#include "belfry/replica_groups.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::group_props {
namespace {

using Ids = std::vector<int>;
using Row = std::vector<float>;
using Rows = std::vector<Row>;  // By replica.

std::size_t at(int id) { return static_cast<std::size_t>(id); }

// A number from begin to end - 1. All numbers are as likely in small cases as in large ones.
int drawn_in(int begin, int end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(begin, end));
}

// Groups of some replicas, each with a number of rounds.
struct Partition {
  int replicas = 2;
  std::vector<Ids> groups{};  // As drawn, members in any order.
  Ids rounds{};               // By group.

  // The members of the group, ascending.
  Ids members(std::size_t group) const {
    Ids sorted = groups[group];
    std::ranges::sort(sorted);
    return sorted;
  }
  std::optional<std::size_t> group_of(int id) const {
    for (std::size_t group = 0; group < groups.size(); ++group) {
      if (std::ranges::count(groups[group], id) > 0) return group;
    }
    return std::nullopt;
  }
};

// Deals the replicas out to groups; some replicas may get no group.
Partition drawn_partition(int replicas) {
  Partition drawn{replicas, {}, {}};
  Ids ids(at(replicas));
  std::iota(ids.begin(), ids.end(), 0);
  for (std::size_t i = ids.size() - 1; i > 0; --i) {
    std::swap(ids[i], ids[static_cast<std::size_t>(drawn_in(0, static_cast<int>(i) + 1))]);
  }
  drawn.groups.resize(at(drawn_in(1, replicas + 1)));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_first = i < drawn.groups.size();
    const int group =
        is_first ? static_cast<int>(i) : drawn_in(-1, static_cast<int>(drawn.groups.size()));
    if (group >= 0) drawn.groups[at(group)].push_back(ids[i]);
  }
  for (std::size_t i = 0; i < drawn.groups.size(); ++i) {
    drawn.rounds.push_back(drawn_in(0, 4));
  }
  return drawn;
}

// The first value of a replica: a list of small integers.
Row first_row(int id, std::uint64_t seed) {
  return values_of<float>({Pattern::kSmallIntegers, seed}, id, 3);
}

// Keeps numbers small: all sums are exact.
Row wrapped(Row row) {
  for (float& x : row) x = static_cast<float>(static_cast<int>(x) % 1000);
  return row;
}

// The verbs of groups. The salt is drawn; rounds and groups begin with different verbs.
enum class Kind {
  kSum,
  kTensorSum,
  kGather,
  kMerge,
  kBroadcast,
  kPermute,
  kAllToAll,
  kReduceScatter,
  kGatherTo,
  kScatterFrom
};
constexpr int kKinds = 10;

Kind kind_of(int salt, int round, int group) {
  return static_cast<Kind>((salt + round + group) % kKinds);
}

// Numbers for a member: the first number of the row and the index of the member, and the rest.
std::vector<Row> parts_for(int members, const Row& row) {
  std::vector<Row> parts;
  for (int i = 0; i < members; ++i)
    parts.push_back({row[0] + static_cast<float>(i), row[1], row[2]});
  return parts;
}

// Each member gets the row of the member before. A merge function has the members of its process.
Row merge_of(const GroupContext& group, const Row& row) {
  const auto shift = [members = group.size()](CrossReplicaContext& cross,
                                              const PerReplica<Tensor<float>>& rows,
                                              const PerReplica<int>& indexes) {
    const Row whole = cross.gather(rows).to_host();
    const int count = rows.present().count();
    detail::ReplicaArray<Row> shifted(count);
    for (int i = 0; i < count; ++i) {
      const int id = rows.present().id(i);
      const auto before = whole.begin() + 3 * ((indexes[id] + members - 1) % members);
      shifted.emplace_back(Row(before, before + 3));
    }
    return PerReplica<Row>(std::move(shifted), rows.present());
  };
  return group.merge_call(shift, tensor_of(row), group.index());
}

// A round of a replica in a group.
Row round_of(const GroupContext& group, Kind kind, Row row) {
  const int last = group.size() - 1;
  switch (kind) {
    case Kind::kSum:
      return wrapped(group.all_reduce(ReduceOp::kSum, std::move(row)));
    case Kind::kTensorSum:
      return wrapped(group.all_reduce(ReduceOp::kSum, tensor_of(row)).to_host());
    case Kind::kGather: {
      // Rows of the members in ascending order: the last member's row is at the end.
      const Row all = group.all_gather(tensor_of(row)).to_host();
      return {all[all.size() - 3], all[0], static_cast<float>(all.size())};
    }
    case Kind::kMerge:
      return merge_of(group, row);
    case Kind::kBroadcast:
      return group.broadcast(std::move(row), last);
    case Kind::kPermute: {
      // From the last member to the first.
      const auto got = group.permute(tensor_of(row), {{last, 0}});
      RC_ASSERT(got.has_value() == (group.index() == 0));
      return got ? got->to_host() : row;
    }
    case Kind::kAllToAll: {
      const std::vector<Row> got = group.all_to_all(parts_for(group.size(), row));
      return wrapped(
          {got.front()[0] + got.back()[0], got.back()[1], static_cast<float>(got.size())});
    }
    case Kind::kReduceScatter: {
      Row numbers;
      for (const Row& part : parts_for(group.size(), row)) numbers.push_back(part[0]);
      const Tensor<float> own = group.reduce_scatter(ReduceOp::kSum, tensor_of(numbers), Axis(0));
      return wrapped({own.to_host()[0], row[1], row[2]});
    }
    case Kind::kGatherTo: {
      const auto all = group.gather_to(row, last);
      RC_ASSERT(all.has_value() == (group.index() == last));
      return all ? Row{(*all)[0], all->back(), static_cast<float>(all->size())} : row;
    }
    case Kind::kScatterFrom:
      return wrapped(group.scatter_from(parts_for(group.size(), row), last));
  }
  return row;
}

// The row of the member with this index after a round, from the rows of the members.
Row after_round(Kind kind, const Rows& rows, std::size_t index) {
  const float members = static_cast<float>(rows.size());
  const float number = static_cast<float>(index);
  const Row& own = rows[index];
  const Row& first = rows.front();
  const Row& last = rows.back();
  Row result(3, 0);
  switch (kind) {
    case Kind::kSum:
    case Kind::kTensorSum:
      for (const Row& row : rows) {
        for (std::size_t i = 0; i < 3; ++i) result[i] += row[i];
      }
      return wrapped(result);
    case Kind::kGather:
      return {last[0], first[0], 3 * members};
    case Kind::kMerge:
      return rows[(index + rows.size() - 1) % rows.size()];
    case Kind::kBroadcast:
      return last;
    case Kind::kPermute:
      return index == 0 ? last : own;
    case Kind::kAllToAll:
      return wrapped({first[0] + number + last[0] + number, last[1], members});
    case Kind::kReduceScatter:
      for (const Row& row : rows) result[0] += row[0] + number;
      return wrapped({result[0], own[1], own[2]});
    case Kind::kGatherTo:
      return index + 1 == rows.size() ? Row{first[0], last[2], 3 * members} : own;
    case Kind::kScatterFrom:
      return wrapped({last[0] + number, last[1], last[2]});
  }
  return result;
}

// A round of all members.
void round_of_all(const Ids& members, Kind kind, Rows& rows) {
  Rows before;
  for (const int id : members) before.push_back(rows[at(id)]);
  for (std::size_t i = 0; i < members.size(); ++i) {
    rows[at(members[i])] = after_round(kind, before, i);
  }
}

class WithGroups : public Property {
 protected:
  // A backend of 1 to 9 devices, or those of the processes of the case.
  BackendRequest drawn_request() const {
    BackendRequest request = *backend_request(9);
    request.devices = drawn_in(1, 10);
    return placed(request);
  }
};

class Groups : public WithGroups {};

TEST_F(Groups, MeetTheirMembersAloneInRoundsOfTheirOwn) {
  testing::asserts("SEM-270", "SEM-272", "SEM-273", "SEM-288");
  holds([this](std::uint16_t seed) {
    const BackendRequest request = drawn_request();
    const Partition drawn = drawn_partition(request.devices);
    const int salt = drawn_in(0, kKinds);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const ReplicaGroups groups = strategy.groups(drawn.groups);
    const auto got = strategy.run([&](ReplicaContext& replica) {
      const int id = replica.replica_id();
      Row row = first_row(id, seed);
      if (const auto own = drawn.group_of(id)) {
        const auto group = replica.in(groups);
        RC_ASSERT(group.group() == static_cast<int>(*own));
        const Ids members = drawn.members(*own);
        RC_ASSERT(members[at(group.index())] == id);
        RC_ASSERT(group.size() == static_cast<int>(members.size()));
        for (int round = 0; round < drawn.rounds[*own]; ++round) {
          const Kind kind = kind_of(salt, round, group.group());
          row = round_of(group, kind, std::move(row));
        }
      }
      meet_with_a_tensor(replica);
      return row;
    });
    Rows wanted;
    for (int id = 0; id < drawn.replicas; ++id) wanted.push_back(first_row(id, seed));
    for (std::size_t group = 0; group < drawn.groups.size(); ++group) {
      for (int round = 0; round < drawn.rounds[group]; ++round) {
        const Kind kind = kind_of(salt, round, static_cast<int>(group));
        round_of_all(drawn.members(group), kind, wanted);
      }
    }
    for (const int id : bench.own()) RC_ASSERT(got[id] == wanted[at(id)]);
  });
}

// Merge functions of a round are called in the order of lowest members, in every schedule.
TEST_F(Groups, MergeInOneOrder) {
  testing::asserts("SEM-273");
  holds([this] {
    const BackendRequest request = drawn_request();
    const Partition drawn = drawn_partition(request.devices);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const ReplicaGroups groups = strategy.groups(drawn.groups);
    Ids order;
    strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const auto own = drawn.group_of(replica.replica_id());
      if (!own) return;
      const auto group = replica.in(groups);
      for (int round = 0; round < drawn.rounds[*own]; ++round) {
        group.merge_call([&](CrossReplicaContext&,
                             const PerReplica<int>& numbers) { order.push_back(*numbers.begin()); },
                         group.group());
      }
    });
    Ids wanted;
    for (int round = 0; round < 4; ++round) {
      for (int id = 0; id < drawn.replicas; ++id) {
        const auto own = drawn.group_of(id);
        if (own && drawn.members(*own).front() == id && drawn.rounds[*own] > round) {
          wanted.push_back(static_cast<int>(*own));
        }
      }
    }
    RC_ASSERT(order == wanted);
  });
}

// A member leaves a group after some rounds: the report has the members alone.
TEST_F(Groups, ThatMissAMemberAreReportedAlone) {
  testing::asserts("SEM-275");
  holds([this] {
    const BackendRequest request = drawn_request();
    if (request.devices < 2) return;
    Partition drawn = drawn_partition(request.devices);
    const auto is_large = [](const Ids& ids) { return ids.size() > 1; };
    if (std::ranges::none_of(drawn.groups, is_large)) drawn = {request.devices, {{0, 1}}, {1}};
    const auto large = std::ranges::find_if(drawn.groups, is_large);
    const auto broken = static_cast<std::size_t>(large - drawn.groups.begin());
    const Ids members = drawn.members(broken);
    const int gone = members[at(drawn_in(0, static_cast<int>(members.size())))];
    drawn.rounds[broken] = drawn_in(1, 4);
    const int stays = drawn_in(0, drawn.rounds[broken]);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const ReplicaGroups groups = strategy.groups(drawn.groups);
    bool thrown = false;
    try {
      strategy.run([&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        const auto own = drawn.group_of(replica.replica_id());
        if (!own) return;
        const int rounds = replica.replica_id() == gone ? stays : drawn.rounds[*own];
        for (int round = 0; round < rounds; ++round) {
          (void)replica.in(groups).all_reduce(ReduceOp::kSum, 1);
        }
      });
    } catch (const MergeMismatchError& error) {
      thrown = true;
      RC_ASSERT(error.code() == ErrorCode::kMergeMissing);
      Ids reported;
      for (const ReplicaReport& one : error.report().replicas) reported.push_back(one.replica_id);
      RC_ASSERT(reported == members);
    }
    RC_ASSERT(thrown);
  });
}

// The sizes of a mesh for a number of replicas: factors in any order, also 1.
std::vector<MeshAxis> drawn_axes(int replicas) {
  std::vector<MeshAxis> axes;
  int left = replicas;
  while (left > 1 || axes.empty()) {
    Ids factors;
    for (int size = 1; size <= left; ++size) {
      if (left % size == 0 && (size > 1 || axes.size() < 2)) factors.push_back(size);
    }
    const int size = factors[at(drawn_in(0, static_cast<int>(factors.size())))];
    axes.push_back({"axis " + std::to_string(axes.size()), size});
    left /= size;
  }
  return axes;
}

// The coordinates of a replica, the last axis the fastest.
Ids coordinates_of(int id, const std::vector<MeshAxis>& axes) {
  Ids coordinates(axes.size(), 0);
  for (int step = 0; step < id; ++step) {
    std::size_t axis = axes.size();
    while (++coordinates[axis - 1] == axes[axis - 1].size) coordinates[--axis] = 0;
  }
  return coordinates;
}

// The replicas with the coordinates of `id` on all axes except `axis`.
Ids line_of(int id, std::size_t axis, const std::vector<MeshAxis>& axes, int replicas) {
  Ids line;
  for (int other = 0; other < replicas; ++other) {
    Ids here = coordinates_of(id, axes);
    const Ids there = coordinates_of(other, axes);
    here[axis] = there[axis];
    if (here == there) line.push_back(other);
  }
  return line;
}

class Meshes : public WithGroups {};

// A program of verbs along drawn axes, and of merges of all replicas between.
TEST_F(Meshes, MeetAlongTheirAxes) {
  testing::asserts("SEM-271", "SEM-273");
  holds([this](std::uint16_t seed) {
    const BackendRequest request = drawn_request();
    const int replicas = request.devices;
    const std::vector<MeshAxis> axes = drawn_axes(replicas);
    const int count = static_cast<int>(axes.size());
    const int salt = drawn_in(0, kKinds);
    // Axis `count` stands for all replicas.
    const auto steps = *rc::gen::container<Ids>(rc::gen::inRange(0, count + 1));
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const ReplicaMesh mesh = strategy.mesh(axes);
    const auto got = strategy.run([&](ReplicaContext& replica) {
      Row row = first_row(replica.replica_id(), seed);
      const Ids own = coordinates_of(replica.replica_id(), axes);
      for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        RC_ASSERT(replica.along(mesh, axes[axis].name).index() == own[axis]);
      }
      for (const int step : steps) {
        if (step == count) {
          row = wrapped(replica.all_reduce(ReduceOp::kSum, tensor_of(row)).to_host());
        } else {
          const auto line = replica.along(mesh, axes[at(step)].name);
          row = round_of(line, kind_of(salt, step, line.group()), std::move(row));
        }
      }
      meet_with_a_tensor(replica);
      return row;
    });
    Rows rows;
    for (int id = 0; id < replicas; ++id) rows.push_back(first_row(id, seed));
    Ids everybody(at(replicas));
    std::iota(everybody.begin(), everybody.end(), 0);
    for (const int step : steps) {
      if (step == count) {
        round_of_all(everybody, Kind::kSum, rows);
        continue;
      }
      int number = 0;  // Of the line: lines are numbered by their lowest replicas.
      for (int id = 0; id < replicas; ++id) {
        const Ids line = line_of(id, at(step), axes, replicas);
        if (line.front() == id) round_of_all(line, kind_of(salt, step, number++), rows);
      }
    }
    for (const int id : bench.own()) RC_ASSERT(got[id] == rows[at(id)]);
  });
}

}  // namespace
}  // namespace belfry::testing::group_props
