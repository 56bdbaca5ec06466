// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace belfry::sim::watch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Actor replica(int id, std::uint32_t run = 1) { return {{AgentId::Kind::kReplica, id}, run}; }

// Near the run time, as the code of a program is.
const char kCode[2] = {};

// A watch of bytes on the heap: the stack of the test is the agents' own.
class HostWatcherTest : public testing::Test {
 protected:
  HostWatcherTest() {
    watcher_.start();
    watcher_.begin_phase();
  }
  ~HostWatcherTest() override { watcher_.stop(); }

  void touch(const Actor& actor, std::size_t first, std::size_t count, bool writes) {
    watcher_.enter(actor, __builtin_frame_address(0));
    watcher_.access(bytes_.data() + first, count, {.writes = writes, .pc = bytes_.data()});
    watcher_.leave();
  }
  void write(const Actor& actor, std::size_t first, std::size_t count) {
    touch(actor, first, count, true);
  }
  void read(const Actor& actor, std::size_t first, std::size_t count) {
    touch(actor, first, count, false);
  }
  std::uint16_t launch(const Actor& launcher) {
    return watcher_.launch_of(launcher, nullptr).known;
  }
  // An access of the body of a kernel that the replica has launched in this phase.
  void read_in_body(const Actor& launcher, std::uint16_t known, std::size_t first,
                    std::size_t count) {
    watcher_.enter_body({.name = "Kernel", .site = {}, .launcher = launcher, .known = known},
                        __builtin_frame_address(0));
    watcher_.access(bytes_.data() + first, count, {.writes = false, .pc = bytes_.data()});
    watcher_.leave();
  }
  void make(const Actor& actor, std::uint32_t variable) {
    watcher_.enter(actor, __builtin_frame_address(0));
    watcher_.make_variable(variable);
    watcher_.leave();
  }
  void take(const Actor& actor, std::uint32_t variable) {
    watcher_.enter(actor, __builtin_frame_address(0));
    watcher_.take_variable(variable);
    watcher_.leave();
  }
  // The bytes of the conflicts of a watch that ends: the first and the number.
  std::vector<std::array<std::size_t, 2>> conflicts() {
    std::vector<std::array<std::size_t, 2>> found;
    for (const HostConflict& conflict : watcher_.stop().conflicts) {
      found.push_back({static_cast<std::size_t>(conflict.address - bytes_.data()), conflict.bytes});
    }
    return found;
  }
  using Found = std::vector<std::array<std::size_t, 2>>;

  HostWatcher& watcher_ = host_watcher();
  std::vector<std::byte> bytes_ = std::vector<std::byte>(64);
};

TEST_F(HostWatcherTest, SeesTheBytesThatTwoReplicasTouch) {
  write(replica(0), 3, 20);
  read(replica(1), 17, 20);
  EXPECT_EQ(conflicts(), (Found{{17, 6}}));
}

// The making of a variable orders the accesses of its maker before the accesses of the taker.
TEST_F(HostWatcherTest, OrdersTheMakingOfAVariable) {
  write(replica(0), 0, 16);
  make(replica(0), 1);
  write(replica(0), 8, 8);  // After the making of variable 1,
  make(replica(0), 2);      // and before the making of variable 2.
  take(replica(1), 1);
  read(replica(1), 0, 8);
  take(replica(2), 2);
  read(replica(2), 0, 16);
  write(replica(2), 0, 4);  // A conflict with replica 1 alone.
  EXPECT_EQ(conflicts(), (Found{{0, 4}}));
}

// Replica 1 takes the variable before its launch, and replica 2 between its launch and the body.
TEST_F(HostWatcherTest, OrdersTheMakingOfAVariableBeforeBodiesThatTakersLaunch) {
  write(replica(0), 0, 8);
  make(replica(0), 1);
  take(replica(1), 1);
  const std::uint16_t known_to_1 = launch(replica(1));
  const std::uint16_t known_to_2 = launch(replica(2));
  take(replica(2), 1);
  read_in_body(replica(1), known_to_1, 0, 8);
  read_in_body(replica(2), known_to_2, 4, 2);
  EXPECT_EQ(conflicts(), (Found{{4, 2}}));
}

// A wait of the maker between the launch and the making may order the body before the taker.
TEST_F(HostWatcherTest, LeavesBodiesOfTheMakerOutAfterTheMaking) {
  make(replica(0), 1);
  read_in_body(replica(0), launch(replica(0)), 0, 8);
  take(replica(1), 1);
  write(replica(1), 0, 8);
  EXPECT_EQ(conflicts(), Found{});
}

TEST_F(HostWatcherTest, ForgetsVariablesOfEarlierPhases) {
  make(replica(0), 1);
  watcher_.begin_phase();
  write(replica(0), 0, 8);
  take(replica(1), 1);
  read(replica(1), 0, 8);
  EXPECT_EQ(conflicts(), (Found{{0, 8}}));
}

TEST_F(HostWatcherTest, LetsNeighboursWrite) {
  write(replica(0), 0, 5);
  write(replica(1), 5, 7);
  write(replica(2), 12, 1);
  EXPECT_EQ(conflicts(), Found{});
}

TEST_F(HostWatcherTest, SeesAWriteAfterTheReadsOfTwo) {
  read(replica(0), 0, 1);
  read(replica(1), 0, 1);
  write(replica(0), 0, 1);
  const HostReport report = watcher_.stop();
  ASSERT_EQ(report.conflicts.size(), 1U);
  EXPECT_EQ(report.conflicts[0].first.actor, replica(1));
  EXPECT_FALSE(report.conflicts[0].first.write);
  EXPECT_EQ(report.conflicts[0].second.actor, replica(0));
  EXPECT_TRUE(report.conflicts[0].second.write);
  EXPECT_EQ(report.accesses, 3U);
}

// A nested run: its replicas come after the outer replicas' accesses.
TEST_F(HostWatcherTest, OrdersRuns) {
  write(replica(0, 1), 0, 8);
  write(replica(1, 2), 0, 8);
  write(replica(0, 2), 4, 8);
  EXPECT_EQ(conflicts(), (Found{{4, 4}}));
}

TEST_F(HostWatcherTest, ForgetsBytesOfANewObject) {
  write(replica(0), 0, 16);
  watcher_.forget(bytes_.data() + 2, 10);
  write(replica(1), 0, 12);
  EXPECT_EQ(conflicts(), (Found{{0, 2}}));
}

TEST_F(HostWatcherTest, IgnoresStreamsAndTheHost) {
  write(replica(0), 0, 8);
  write({{AgentId::Kind::kStream, 1}, 0}, 0, 8);
  write({}, 0, 8);
  EXPECT_EQ(conflicts(), Found{});
}

TEST_F(HostWatcherTest, ForgetsTheLastWatch) {
  write(replica(0), 0, 8);
  watcher_.stop();
  watcher_.start();
  write(replica(1), 0, 8);
  EXPECT_EQ(conflicts(), Found{});
  EXPECT_EQ(watcher_.stop().accesses, 0U);
}

TEST_F(HostWatcherTest, NamesTheCallOfTheLibrary) {
  const CallSite site{"train.cpp", 5};
  for (int id = 0; id < 2; ++id) {
    watcher_.enter(replica(id), __builtin_frame_address(0));
    watcher_.touched(bytes_.data(), 8, true, site);
    watcher_.leave();
  }
  const HostReport report = watcher_.stop();
  ASSERT_EQ(report.conflicts.size(), 1U);
  EXPECT_EQ(report.conflicts[0].bytes, 8U);
  EXPECT_TRUE(same_place(report.conflicts[0].first.site, site));
  EXPECT_EQ(report.conflicts[0].first.pc, nullptr);
}

[[gnu::noinline]] const void* next_address() { return __builtin_return_address(0); }

struct Statements {
  const void* of_user = nullptr;
  const void* of_library = nullptr;
  int line = 0;
};

// The position of the second statement is the one of a header of the system, as the position of
// code that an optimizing compiler has moved may be.
[[gnu::noinline]] Statements statements() {
  Statements found;
  found.line = __LINE__ + 1;
  found.of_user = next_address();
#line 1 "/usr/include/header_of_the_system.h"
  found.of_library = next_address();
  return found;
}
#line 217 "host_watcher_test.cpp"

// The call of the replica by belfry has a line, too, if belfry is built with line tables.
TEST_F(HostWatcherTest, NamesAStatementBeforeAnAccessWithoutALine) {
  const Statements found = statements();
  for (int id = 0; id < 2; ++id) {
    watcher_.enter(replica(id), __builtin_frame_address(0));
    watcher_.call(next_address());
    watcher_.access(bytes_.data(), 8, {.writes = true, .pc = found.of_library});
    watcher_.return_from_call();
    watcher_.leave();
  }
  const HostReport report = watcher_.stop();
  ASSERT_EQ(report.conflicts.size(), 1U);
  EXPECT_EQ(watcher_.source_site(report.conflicts[0].first.pc).line, found.line);
}

// 2^20 calls, each with a way of its own.
TEST_F(HostWatcherTest, SurvivesAFunctionThatCallsItselfInTwoWays) {
  const auto call = [&](const auto& self, int depth) -> void {
    for (int way = 0; way < 2; ++way) {
      watcher_.call(kCode + way);
      if (depth > 1) self(self, depth - 1);
      watcher_.return_from_call();
    }
  };
  watcher_.enter(replica(0), __builtin_frame_address(0));
  call(call, 19);
  watcher_.leave();
  EXPECT_LT(watcher_.places(), std::size_t{1} << 19);
  write(replica(0), 0, 8);
  write(replica(1), 0, 8);
  EXPECT_EQ(conflicts(), (Found{{0, 8}}));
}

TEST_F(HostWatcherTest, ReportsASecondThread) {
  std::thread([&] { write(replica(0), 0, 8); }).join();
  const HostReport report = watcher_.stop();
  EXPECT_EQ(report.accesses, 0U);
  EXPECT_TRUE(report.second_thread);
  EXPECT_EQ(report.unseen, std::vector<std::string>{});
}

// A verb reads what replicas have passed. In a nested run the merge around is as before.
TEST_F(HostWatcherTest, CountsNothingInMergesOfVerbs) {
  const Actor outer{{AgentId::Kind::kMerge, 0}, 1};
  const Actor inner{{AgentId::Kind::kMerge, 1}, 2};
  const auto counts_in = [&](const Actor& merge, bool is_verb) {
    watcher_.enter(merge, nullptr);
    watcher_.begin_phase();
    watcher_.begin_merge(is_verb);
    return belfry_watch_counts != 0;
  };
  EXPECT_TRUE(counts_in(outer, false));
  EXPECT_FALSE(counts_in(inner, true));
  watcher_.enter(replica(0, 2), __builtin_frame_address(0));
  EXPECT_NE(belfry_watch_counts, 0);
  watcher_.enter(inner, nullptr);
  EXPECT_EQ(belfry_watch_counts, 0);
  watcher_.enter(outer, nullptr);
  EXPECT_NE(belfry_watch_counts, 0);
  EXPECT_FALSE(counts_in(outer, true));
  EXPECT_TRUE(counts_in(outer, false));
  // Devices use memory of the program: merges are in an order with streams.
  watcher_.share(reinterpret_cast<const std::byte*>(bytes_.data()), 8, outer);
  EXPECT_TRUE(counts_in(outer, true));
}

// Bytes that a merge has written are the merge's.
TEST_F(HostWatcherTest, NotesNoValueThatTheMergeReplaced) {
  write(replica(1), 8, 8);
  read(replica(0), 0, 1);
  watcher_.begin_phase();
  watcher_.enter({{AgentId::Kind::kMerge, 0}, 1}, nullptr);
  watcher_.access(bytes_.data() + 8, 8, {.writes = true, .pc = bytes_.data()});
  watcher_.access(bytes_.data() + 8, 8, {.pc = bytes_.data()});
  watcher_.leave();
  EXPECT_TRUE(watcher_.stop().single_writer_reads_in_merges.empty());
}

// Replica 0 pauses in a call of belfry that has told of its write to bytes 8 to 12.
class AuditTest : public HostWatcherTest {
 protected:
  AuditTest() {
    watcher_.start_audit();
    watcher_.audit().made(bytes_.data(), bytes_.size());
    in_slice(replica(0), [&] { watcher_.touched(bytes_.data() + 8, 4, true, CallSite{}); });
  }
  template <class Slice>
  void in_slice(const Actor& actor, const Slice& slice) {
    watcher_.enter(actor, __builtin_frame_address(0));
    slice();
    watcher_.leave();
  }
  void change(std::size_t byte) { bytes_[byte] = std::byte{1}; }
  void change_in(const Actor& actor, std::size_t byte) {
    in_slice(actor, [&] { change(byte); });
  }
  // The run time's own variables change, too: the program of the test has no list of names that the
  // run time knows.
  std::vector<std::string> found() {
    std::vector<std::string> all = watcher_.stop().unseen;
    std::erase_if(all, [](const std::string& text) { return !text.starts_with("byte "); });
    return all;
  }
  static std::string changed(std::size_t byte, int id) {
    return "byte " + std::to_string(byte) + " of a block of 64 bytes changed in R" +
           std::to_string(id) + " of run 1 without a seen write";
  }
};

// A copy for a write pauses the replica, and a new handle comes after the copy.
TEST_F(AuditTest, KnowsAWriteThatWasTold) {
  in_slice(replica(0), [] {});
  read(replica(1), 0, 8);
  change_in(replica(0), 11);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(AuditTest, NamesBytesBesideAWriteThatWasTold) {
  change_in(replica(0), 12);
  EXPECT_THAT(found(), ElementsAre(changed(12, 0)));
}

TEST_F(AuditTest, NamesAWriteThatASecondReplicaWasTold) {
  change_in(replica(1), 8);
  EXPECT_THAT(found(), ElementsAre(changed(8, 1)));
}

TEST_F(AuditTest, NamesAWriteAfterTheCall) {
  read(replica(0), 0, 1);
  change_in(replica(0), 8);
  EXPECT_THAT(found(), ElementsAre(changed(8, 0)));
}

// The marks of a write are of the phase in which it was told.
TEST_F(AuditTest, NamesAWriteInALaterPhase) {
  watcher_.begin_phase();
  change_in(replica(0), 8);
  EXPECT_THAT(found(), ElementsAre(changed(8, 0)));
}

}  // namespace
}  // namespace belfry::sim::watch
