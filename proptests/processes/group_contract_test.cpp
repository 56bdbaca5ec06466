// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The contract of groups, for every kind. A test is the body of each process: all processes make
// the same calls, and every process asserts its own view. Expected values come from ranks alone.

#include "belfry/backend/process_parts.h"
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/group_kind.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Bytes = std::vector<std::byte>;

const CallSite kFirstPlace{"train.cc", 11};
const CallSite kSecondPlace{"train.cc", 22};

// Every byte depends on its place and on `seed`.
Bytes pattern(std::size_t length, std::uint64_t seed) {
  Bytes bytes(length);
  std::uint64_t state = seed * 2654435761U + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

Bytes bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint64_t as_seed(int rank) { return static_cast<std::uint64_t>(rank); }

TEST(GroupContract, GathersValuesOfAnyLength) {
  testing::asserts("SEM-150");
  on_each_process([](ProcessGroup& group) {
    for (const std::size_t length : {0, 1, 999, 1000, 1001, 1023, 1024, 1025, 4096, 300'000}) {
      // Process 0 has the longest value, the last process none.
      const auto length_of = [&](int rank) {
        return length * static_cast<std::size_t>(group.size() - 1 - rank);
      };
      const auto all = group.gather(pattern(length_of(group.rank()), as_seed(group.rank())));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(group.size()));
      for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_TRUE(all[static_cast<std::size_t>(rank)] == pattern(length_of(rank), as_seed(rank)))
            << length << " bytes from " << rank;
      }
    }
  });
}

// The sum of all bytes modulo 256, in a byte; nothing if some message is empty.
constexpr auto kSum =
    [](std::span<const std::span<const std::byte>> messages) -> std::optional<Bytes> {
  unsigned sum = 0;
  for (const std::span<const std::byte> message : messages) {
    if (message.empty()) return std::nullopt;
    for (const std::byte byte : message) sum += static_cast<unsigned>(byte);
  }
  return Bytes{static_cast<std::byte>(sum)};
};

// The byte of rank r, `length` times.
Bytes ones_of(int rank, std::size_t length) { return Bytes(length, static_cast<std::byte>(rank)); }

TEST(GroupContract, FoldsTheBytesOfAllProcesses) {
  testing::asserts("SEM-150");
  on_each_process([](ProcessGroup& group) {
    for (const std::size_t length : {1, 999, 1001, 300'000}) {
      const FoldedBytes folded = group.fold(ones_of(group.rank(), length), kSum);
      ASSERT_NE(folded.result, nullptr) << length;
      EXPECT_THAT(folded.all, IsEmpty());
      const auto ranks = static_cast<std::size_t>(group.size() * (group.size() - 1) / 2);
      EXPECT_EQ(*folded.result, Bytes{static_cast<std::byte>(length * ranks)}) << length;
    }
  });
}

TEST(GroupContract, FoldsInOrderOfRank) {
  on_each_process([](ProcessGroup& group) {
    const auto joined = [](std::span<const std::span<const std::byte>> messages) {
      Bytes all;
      for (const auto& message : messages) all.insert(all.end(), message.begin(), message.end());
      return std::optional(std::move(all));
    };
    Bytes expected;
    for (int rank = 0; rank < group.size(); ++rank) {
      const Bytes one = ones_of(rank, as_seed(rank + 1));
      expected.insert(expected.end(), one.begin(), one.end());
    }
    const FoldedBytes folded = group.fold(ones_of(group.rank(), as_seed(group.rank() + 1)), joined);
    ASSERT_NE(folded.result, nullptr);
    EXPECT_EQ(*folded.result, expected);
  });
}

TEST(GroupContract, GathersWhereNothingIsFolded) {
  testing::asserts("SEM-150");
  on_each_process([](ProcessGroup& group) {
    for (int stranger = 0; stranger < group.size(); ++stranger) {
      for (const std::size_t length : {1, 2000}) {
        const auto message_of = [&](int rank) {
          return rank == stranger ? Bytes() : ones_of(rank, length);
        };
        const FoldedBytes folded = group.fold(message_of(group.rank()), kSum);
        EXPECT_EQ(folded.result, nullptr);
        ASSERT_EQ(folded.all.size(), static_cast<std::size_t>(group.size()));
        for (int rank = 0; rank < group.size(); ++rank) {
          EXPECT_EQ(folded.all[static_cast<std::size_t>(rank)], message_of(rank));
        }
      }
    }
  });
}

// The process that gathers gets all bytes. The others get the result, or all bytes too.
TEST(GroupContract, FoldsMeetGathers) {
  testing::asserts("SEM-150");
  on_each_process([](ProcessGroup& group) {
    for (int stranger = 0; stranger < group.size(); ++stranger) {
      const Bytes own = ones_of(group.rank() + 1, 3);
      FoldedBytes found;
      if (group.rank() == stranger) found.all = group.gather(own);
      if (group.rank() != stranger) found = group.fold(own, kSum);
      const auto ranks = static_cast<unsigned>(group.size() * (group.size() + 1) / 2);
      if (found.result != nullptr) {
        EXPECT_EQ(*found.result, Bytes{static_cast<std::byte>(3 * ranks)});
        continue;
      }
      ASSERT_EQ(found.all.size(), static_cast<std::size_t>(group.size()));
      for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_EQ(found.all[static_cast<std::size_t>(rank)], ones_of(rank + 1, 3));
      }
    }
  });
}

TEST(GroupContract, BroadcastsTheValueOfAnyProcess) {
  on_each_process([](ProcessGroup& group) {
    for (int from = 0; from < group.size(); ++from) {
      for (const std::size_t length : {0, 7, 1025, 200'000}) {
        const Bytes own = pattern(length + as_seed(group.rank()), as_seed(group.rank()));
        const Bytes expected = pattern(length + as_seed(from), as_seed(from));
        EXPECT_TRUE(group.broadcast(own, from) == expected) << length << " bytes from " << from;
      }
    }
  });
}

TEST(GroupContract, RefusesDifferentCallsAndGoesOn) {
  testing::asserts("SEM-150");
  on_each_process([](ProcessGroup& group) {
    if (group.size() == 1) return;
    at_each_place(group.size(), [&](int odd) {
      const bool is_odd = group.rank() == odd;
      const std::string stranger = "process " + std::to_string(odd) + "  calls ";
      const std::string text = text_of_error<MergeMismatchError>([&] {
        if (is_odd) group.gather(pattern(5000, 1));
        if (!is_odd) group.broadcast(pattern(5000, 2), 1);
      });
      EXPECT_THAT(text, AllOf(HasSubstr("BF-012"), HasSubstr(stranger + "gather"),
                              HasSubstr("calls broadcast from process 1")));
      const std::string roots = text_of_error<MergeMismatchError>(
          [&] { group.broadcast(pattern(5000, 3), is_odd ? 0 : 1); });
      EXPECT_THAT(roots, AllOf(HasSubstr(stranger + "broadcast from process 0"),
                               HasSubstr("calls broadcast from process 1")));
      const auto all = group.gather(pattern(2000, as_seed(group.rank())));
      for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_TRUE(all[static_cast<std::size_t>(rank)] == pattern(2000, as_seed(rank)));
      }
    });
  });
}

// The parts from process `from` to process `to`: one less than the sum of the ranks.
std::vector<Bytes> parts_between(int from, int to, std::size_t length) {
  std::vector<Bytes> parts;
  for (int part = 1; part < from + to; ++part) {
    parts.push_back(pattern(length * static_cast<std::size_t>(part), as_seed(7 * from + to)));
  }
  return parts;
}

// Sends the parts between all processes, and returns whether all were ready and, if they were, all
// parts are right. If they were not, no byte may change.
bool exchange_all(ProcessGroup& group, ProcessParts& parts, bool is_ready, std::size_t length) {
  std::vector<SentPart> sent;
  std::vector<ReceivedPart> received;
  std::vector<Bytes> expected;
  for (int other = 0; other < group.size(); ++other) {
    if (other == group.rank()) continue;
    for (Bytes& bytes : parts_between(group.rank(), other, length)) {
      const auto own = std::make_shared<Bytes>(std::move(bytes));
      sent.push_back({other, {own, own->data()}, own->size()});
    }
    for (Bytes& bytes : parts_between(other, group.rank(), length)) {
      const auto room = std::make_shared<Bytes>(bytes.size());
      received.push_back({other, {room, room->data()}, room->size()});
      expected.push_back(std::move(bytes));
    }
  }
  const bool all_ready = parts.exchange_parts(is_ready, sent, received);
  for (std::size_t i = 0; i < received.size(); ++i) {
    const std::byte* const begin = received[i].bytes.get();
    const Bytes found(begin, begin + received[i].count);
    EXPECT_TRUE(found == (all_ready ? expected[i] : Bytes(found.size()))) << "part " << i;
  }
  return all_ready;
}

TEST(GroupContract, ExchangesPartsOfAnyLength) {
  testing::asserts("SEM-220");
  on_each_process([](ProcessGroup& group) {
    auto* const parts = dynamic_cast<ProcessParts*>(&group);
    if (parts == nullptr) return;  // Simulated hosts gather; a lone process has nothing to send.
    for (const std::size_t length : {1, 999, 1001, 300'000}) {
      EXPECT_TRUE(exchange_all(group, *parts, true, length)) << length;
      EXPECT_TRUE(group.gather(pattern(length, as_seed(group.rank()))).back() ==
                  pattern(length, as_seed(group.size() - 1)));
    }
  });
}

TEST(GroupContract, ExchangesNoPartsUnlessAllAreReady) {
  testing::asserts("SEM-220");
  on_each_process([](ProcessGroup& group) {
    auto* const parts = dynamic_cast<ProcessParts*>(&group);
    if (parts == nullptr) return;
    for (int late = 0; late < group.size(); ++late) {
      EXPECT_FALSE(exchange_all(group, *parts, group.rank() != late, 2000)) << late;
    }
    EXPECT_TRUE(exchange_all(group, *parts, true, 2000));
    if (group.size() == 1) return;
    at_each_place(group.size(), [&](int odd) {
      const std::string text = text_of_error<MergeMismatchError>([&] {
        if (group.rank() == odd) group.gather({});
        if (group.rank() != odd) exchange_all(group, *parts, true, 2000);
      });
      EXPECT_THAT(text, AllOf(HasSubstr("BF-012"),
                              HasSubstr("process " + std::to_string(odd) + "  calls gather"),
                              HasSubstr("calls exchange of parts")));
      EXPECT_TRUE(exchange_all(group, *parts, true, 2000));
    });
  });
}

TEST(GroupContract, RefusesARankOutsideTheGroup) {
  on_each_process([](ProcessGroup& group) {
    EXPECT_THROW(group.broadcast({}, group.size()), InvalidArgumentError);
    EXPECT_THROW(group.broadcast({}, -1), InvalidArgumentError);
    EXPECT_THROW(group.host_name(group.size()), InvalidArgumentError);
    EXPECT_THROW(group.host_name(-1), InvalidArgumentError);
    // Nothing was exchanged: the group is level.
    EXPECT_EQ(group.gather({}).size(), static_cast<std::size_t>(group.size()));
  });
}

TEST(GroupContract, KnowsTheHostsOfAllProcesses) {
  testing::asserts("SEM-206");
  on_each_process([](ProcessGroup& group) {
    const auto hosts = group.gather(bytes_of(group.host_name(group.rank())));
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_THAT(group.host_name(rank), Not(IsEmpty()));
      EXPECT_EQ(group.host_name(rank), text_of(hosts[static_cast<std::size_t>(rank)]));
    }
    EXPECT_EQ(group.description(), "process " + std::to_string(group.rank()) + " of " +
                                       std::to_string(group.size()) + " on host " +
                                       group.host_name(group.rank()));
  });
}

TEST(GroupContract, IsWholeWhileAllTakePart) {
  testing::asserts("SEM-206");
  on_each_process([](ProcessGroup& group) {
    EXPECT_TRUE(group.health().is_whole());
    group.barrier();
    const GroupHealth health = group.health();
    EXPECT_THAT(health.reason, IsEmpty());
    EXPECT_THAT(to_string(health), HasSubstr("whole, deadline "));
    group.barrier();  // No process leaves before all have asked.
  });
}

TEST(GroupContract, ChangesItsDeadlineTogether) {
  testing::asserts("SEM-207");
  on_each_process([](ProcessGroup& group) {
    group.set_deadline(Deadline::seconds(41));
    const Deadline old = group.health().deadline;
    EXPECT_TRUE(old == Deadline::seconds(41) || old.is_never());
    if (group.size() == 1) return;
    at_each_place(group.size(), [&](int odd) {
      const auto own = group.rank() == odd ? Deadline::milliseconds(42'500) : Deadline::never();
      const std::string text =
          text_of_error<InvalidArgumentError>([&] { group.set_deadline(own); });
      EXPECT_THAT(text,
                  HasSubstr(odd == 0 ? "a deadline of 42500 ms in process 0, and of no limit in "
                                       "process 1"
                                     : "a deadline of no limit in process 0, and of 42500 ms in "
                                       "process " +
                                           std::to_string(odd)));
      EXPECT_EQ(group.health().deadline, old);
      group.barrier();
    });
  });
}

TEST(GroupContract, RefusesBarriersAtDifferentPlaces) {
  testing::asserts("SEM-209");
  on_each_process([](ProcessGroup& group) {
    group.barrier(kFirstPlace);
    if (group.size() == 1) return;
    at_each_place(group.size(), [&](int odd) {
      const bool is_odd = group.rank() == odd;
      const std::string stranger = "process " + std::to_string(odd) + "  ";
      // Another line, and the same line of another file.
      for (const CallSite& place : {kSecondPlace, CallSite{"test.cc", 11}}) {
        const std::string places =
            text_of_error<MergeMismatchError>([&] { group.barrier(is_odd ? place : kFirstPlace); });
        EXPECT_THAT(places, AllOf(HasSubstr("BF-011"), HasSubstr(stranger + to_string(place)),
                                  HasSubstr("  train.cc:11")));
      }
      const std::string calls = text_of_error<MergeMismatchError>([&] {
        if (is_odd) group.barrier(kFirstPlace);
        if (!is_odd) group.first([] {}, kFirstPlace);
      });
      EXPECT_THAT(calls,
                  AllOf(HasSubstr("BF-012"), HasSubstr(stranger + "train.cc:11  calls barrier"),
                        HasSubstr("  train.cc:11  calls first")));
      group.barrier(kFirstPlace);
    });
  });
}

TEST(GroupContract, CallsAFunctionOnProcessZeroFirst) {
  testing::asserts("SEM-209");
  on_each_process([](ProcessGroup& group) {
    int calls = 0;
    group.first([&] { ++calls; });
    EXPECT_EQ(calls, group.rank() == 0 ? 1 : 0);
    const auto fail = [&] { group.first([] { throw std::out_of_range("row 9"); }); };
    if (group.rank() == 0) {
      EXPECT_THROW(fail(), std::out_of_range);
    } else {
      EXPECT_THAT(text_of_error<PeerFailedError>(fail),
                  AllOf(HasSubstr("BF-071 process 0 failed"), HasSubstr("row 9")));
    }
    group.barrier();
  });
}

TEST(GroupContract, TellsTheOthersWhoHasLeft) {
  testing::asserts("SEM-155");
  on_each_process([](ProcessGroup& group) {
    if (group.size() == 1) return;
    group.barrier();
    if (group.rank() == 1) return;
    std::string first;
    for (int call = 0; call < 2; ++call) {
      const std::string text = text_of_error<ProcessLostError>([&] { group.gather({}); });
      EXPECT_THAT(text, HasSubstr("BF-070 process 1 has left the group"));
      if (call == 0) first = text;
      EXPECT_EQ(text, first);
    }
    const GroupHealth health = group.health();
    // More processes may have left since.
    EXPECT_THAT(health.lost, ::testing::Contains(1));
    EXPECT_THAT(health.reason, HasSubstr("BF-070 process 1 has left the group"));
  });
}

// All processes make the calls of a plan, and work out all results from the plan. A seed gives the
// plan.
TEST(GroupContract, HoldsForRandomPrograms) {
  on_each_process([](ProcessGroup& group) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      std::uint64_t state = seed + 1;
      const auto draw = [&](std::uint64_t below) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return (state >> 33) % below;
      };
      for (int step = 0; step < 20; ++step) {
        const std::uint64_t verb = draw(3);
        const std::uint64_t scale = draw(4) == 0 ? 3000 : 30;
        const int from = static_cast<int>(draw(static_cast<std::uint64_t>(group.size())));
        std::vector<Bytes> values;
        for (int rank = 0; rank < group.size(); ++rank) {
          values.push_back(pattern(draw(scale), state));
        }
        const Bytes& own = values[static_cast<std::size_t>(group.rank())];
        if (verb == 0) {
          ASSERT_TRUE(group.gather(own) == values) << "seed " << seed << ", step " << step;
        } else if (verb == 1) {
          ASSERT_TRUE(group.broadcast(own, from) == values[static_cast<std::size_t>(from)])
              << "seed " << seed << ", step " << step;
        } else if (group.size() > 1) {
          EXPECT_THROW(
              {
                if (group.rank() == from) group.gather(own);
                if (group.rank() != from) group.broadcast(own, from);
              },
              MergeMismatchError);
        }
      }
    }
  });
}

TEST(GroupContract, CarriesAStrategy) {
  testing::asserts("SEM-150");
  on_each_process([](ProcessGroup& group) {
    HostBackend backend{2};
    MultiWorkerMirroredStrategy strategy{backend, group};
    const PerReplica<double> sums = strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, 1.0 + replica.replica_id());
    });
    const int replicas = 2 * group.size();
    for (const double sum : sums) EXPECT_EQ(sum, replicas * (replicas + 1) / 2);
  });
}

}  // namespace
}  // namespace belfry::testing
