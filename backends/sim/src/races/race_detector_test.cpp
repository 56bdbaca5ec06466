// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/race_detector.h"

#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace belfry::sim::races::race_detector_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Observation::Kind;

const Actor kHost{};
const Actor kMerge{{AgentId::Kind::kMerge, 0}, 1};
Actor replica(int id, std::uint32_t run = 1) { return {{AgentId::Kind::kReplica, id}, run}; }

// A run by hand: each function is an observation. Buffers have 8 bytes, and events the maker H0.
class Script {
 public:
  Script& begin_run() { return tell({.kind = Kind::kRunBegan, .actor = kHost, .run = 1}); }
  Script& merge() {
    const Operation operation{.kind = OperationKind::kMerge, .agent = kMerge.agent};
    return tell({.actor = kMerge, .operation = &operation});
  }
  Script& write(const Actor& actor, std::int32_t stream, std::uint64_t buffer, int line = 1) {
    return work(actor, {stream}, {{buffer, 0, 8, AccessMode::kWrite}}, line);
  }
  Script& read(const Actor& actor, std::int32_t stream, std::uint64_t buffer, int line = 2) {
    return work(actor, {stream}, {{buffer, 0, 8, AccessMode::kRead}}, line);
  }
  Script& work(const Actor& actor, const std::vector<std::int32_t>& streams,
               const std::vector<Footprint>& footprints, int line) {
    std::vector<StreamItem> items;
    for (const std::int32_t stream : streams) items.push_back({stream, ++items_[stream]});
    return tell({.kind = Kind::kSubmitted,
                 .actor = actor,
                 .items = items,
                 .footprints = footprints,
                 .name = "work",
                 .site = {"user.cpp", line}});
  }
  Script& record(const Actor& actor, std::int32_t stream, std::uint32_t event) {
    return of_event(Kind::kRecorded, actor, stream, event, ++records_[event]);
  }
  Script& wait(const Actor& actor, std::int32_t stream, std::uint32_t event) {
    return of_event(Kind::kWaitQueued, actor, stream, event, records_[event]);
  }
  Script& host_waits(const Actor& actor, std::int32_t stream, bool failed = false) {
    const StreamItem last{stream, items_[stream]};
    return tell({.kind = Kind::kHostWaited, .actor = actor, .failed = failed, .items = {&last, 1}});
  }
  Script& host_waits_for_event(const Actor& actor, std::uint32_t event) {
    return tell({.kind = Kind::kHostWaited,
                 .actor = actor,
                 .event = {kHost, event},
                 .record = records_[event]});
  }
  Script& host_reads(const Actor& actor, std::uint64_t buffer) {
    const Footprint all{buffer, 0, 8, AccessMode::kRead};
    return tell({.kind = Kind::kHostRead, .actor = actor, .footprints = {&all, 1}});
  }
  Script& variable(Kind kind, const Actor& actor, std::uint64_t number) {
    return tell({.kind = kind, .actor = actor, .record = number});
  }

  const std::vector<Race>& races() const { return detector_.races(); }
  const RaceDetector& detector() const { return detector_; }

 private:
  Script& of_event(Kind kind, const Actor& actor, std::int32_t stream, std::uint32_t event,
                   std::uint64_t record) {
    const StreamItem item{stream, ++items_[stream]};
    return tell({.kind = kind,
                 .actor = actor,
                 .items = {&item, 1},
                 .event = {kHost, event},
                 .record = record});
  }
  Script& tell(const Observation& seen) {
    detector_.observe(seen);
    return *this;
  }

  RaceDetector detector_;
  std::map<std::int32_t, std::uint64_t> items_;
  std::map<std::uint32_t, std::uint64_t> records_;
};

TEST(ARaceDetector, AcceptsAccessesToDifferentBytes) {
  Script run;
  run.begin_run();
  run.work(replica(0), {1}, {{7, 0, 4, AccessMode::kWrite}}, 1);
  run.work(replica(1), {2}, {{7, 4, 8, AccessMode::kWrite}}, 2);
  EXPECT_THAT(run.races(), IsEmpty());
  run.work(replica(1), {2}, {{7, 3, 4, AccessMode::kRead}}, 3);
  EXPECT_THAT(run.races(), SizeIs(1));
}

// Work with three buffers, a buffer of which is another replica's.
TEST(ARaceDetector, LooksAtEachBufferOfAWork) {
  belfry::testing::at_each_place(3, [](int odd) {
    Script run;
    run.begin_run().write(replica(0), 1, 7);
    std::vector<Footprint> footprints;
    for (const std::uint64_t own : {1U, 2U, 3U}) {
      footprints.push_back({own, 0, 8, AccessMode::kRead});
    }
    footprints[static_cast<std::size_t>(odd)].resource = 7;
    run.work(replica(1), {2}, footprints, 1);
    EXPECT_THAT(run.races(), SizeIs(1));
  });
}

TEST(ARaceDetector, OrdersStreamsOverSeveralEvents) {
  Script run;
  run.write(kHost, 0, 7).record(kHost, 0, 1).wait(kHost, 1, 1).record(kHost, 1, 2);
  run.wait(kHost, 2, 2).write(kHost, 2, 7);
  EXPECT_THAT(run.races(), IsEmpty());
}

TEST(ARaceDetector, OrdersHostsByTheirWaits) {
  belfry::testing::asserts("SEM-192");
  Script waits;
  waits.write(kHost, 0, 7).host_waits(kHost, 0).write(kHost, 1, 7);
  EXPECT_THAT(waits.races(), IsEmpty());
  Script throws;
  throws.write(kHost, 0, 7).host_waits(kHost, 0, true).write(kHost, 1, 7);
  EXPECT_THAT(throws.races(), SizeIs(1));
  Script by_event;
  by_event.write(kHost, 0, 7)
      .record(kHost, 0, 1)
      .host_waits_for_event(kHost, 1)
      .host_reads(kHost, 7);
  EXPECT_THAT(by_event.races(), IsEmpty());
}

TEST(ARaceDetector, ReportsAnEventThatTwoReplicasUse) {
  belfry::testing::asserts("SEM-192");
  Script run;
  run.begin_run().record(replica(0), 1, 1).wait(replica(1), 2, 1);
  ASSERT_THAT(run.detector().event_races(), SizeIs(1));
  EXPECT_EQ(run.detector().event_races()[0].subject, "event 1 of H0");
  // A replica of three records the event, and two replicas wait: a race with each.
  belfry::testing::at_each_place(3, [](int odd) {
    Script all;
    all.record(kHost, 0, 1).begin_run();
    for (const int id : {0, 1, 2}) {
      if (id != odd) all.wait(replica(id), id, 1);
    }
    all.record(replica(odd), odd, 1);
    EXPECT_THAT(all.detector().event_races(), SizeIs(2));
  });
  Script waits;
  waits.record(kHost, 0, 1).begin_run().wait(replica(0), 1, 1).wait(replica(1), 2, 1);
  EXPECT_THAT(waits.detector().event_races(), IsEmpty());
}

TEST(ARaceDetector, OrdersTheMakingOfAVariableBeforeItsUse) {
  belfry::testing::asserts("SEM-192");
  Script run;
  run.begin_run().write(replica(0), 3, 7).variable(Kind::kVariableMade, replica(0), 1);
  run.variable(Kind::kVariableTaken, replica(1), 1).read(replica(1), 3, 7);
  EXPECT_THAT(run.races(), IsEmpty());
  run.write(replica(0), 3, 8).read(replica(1), 3, 8);  // After the making: no order.
  EXPECT_THAT(run.races(), SizeIs(1));
  Script untaken;
  untaken.begin_run().write(replica(0), 3, 7).variable(Kind::kVariableMade, replica(0), 1);
  untaken.read(replica(1), 3, 7);
  EXPECT_THAT(untaken.races(), SizeIs(1));
}

TEST(ARaceDetector, ReportsEachPairOfLinesOnce) {
  Script run;
  run.begin_run();
  for (int i = 0; i < 3; ++i) run.write(replica(0), 3, 7, 1).write(replica(1), 4, 7, 2);
  EXPECT_THAT(run.races(), SizeIs(2));  // Also in the reverse order of the agents.
}

TEST(ARace, PrintsBothSides) {
  Script run;
  run.begin_run().write(replica(0), 3, 7, 11).read(replica(1), 4, 7, 12);
  ASSERT_THAT(run.races(), SizeIs(1));
  EXPECT_EQ(to_string(run.races()[0]),
            "race for a buffer:\n"
            "  R0 of run 1: work in S3 writes bytes 0 to 8, user.cpp:11\n"
            "  R1 of run 1: work in S4 reads bytes 0 to 8, user.cpp:12\n"
            "  S4 does not wait for S3, and a merge between the calls is missing");
}

TEST(ARace, NamesTheMissingOrder) {
  const auto missing = [](const Script& run) {
    return run.races().empty() ? "" : run.races().front().missing;
  };
  Script streams;
  EXPECT_EQ(missing(streams.write(kHost, 3, 7).read(kHost, 4, 7)),
            "S4 does not wait for S3: record an event in S3 after the first access, and let S4 "
            "wait for the event before the second");
  Script common;
  EXPECT_EQ(missing(common.begin_run().write(replica(0), 3, 7).read(replica(1), 3, 7)),
            "replicas submit to S3 in any order: a merge between the calls is missing");
  Script reader;
  EXPECT_EQ(missing(reader.begin_run().write(replica(0), 3, 7).host_reads(replica(0), 7)),
            "R0 of run 1 reads without a wait for S3");
  Script writer;
  writer.write(kHost, 3, 7).host_waits(kHost, 3).begin_run().host_reads(replica(0), 7);
  EXPECT_EQ(missing(writer.write(replica(1), 3, 7)),
            "a merge between the access and the call of R1 of run 1 is missing");
}

// The wait of replica 1 covers the work of replica 0 in some schedules alone.
TEST(ARace, NamesAMissingMergeToAReplicaThatWaits) {
  Script run;
  run.begin_run().write(replica(0), 3, 7).host_waits(replica(1), 3).host_reads(replica(1), 7);
  ASSERT_THAT(run.races(), SizeIs(1));
  EXPECT_EQ(run.races()[0].missing,
            "a merge between the call and the access of R1 of run 1, and after the merge a wait "
            "for S3, are missing");
}

// A merge lies between the calls.
TEST(ARace, NamesNoMergeBetweenTwoPhases) {
  Script work;
  work.begin_run().write(replica(0), 3, 7).merge().read(replica(1), 4, 7);
  ASSERT_THAT(work.races(), SizeIs(1));
  EXPECT_EQ(work.races()[0].missing,
            "S4 does not wait for S3: record an event in S3 after the first access, and let S4 "
            "wait for the event before the second");
  Script read;
  read.begin_run().write(replica(0), 3, 7).merge().host_reads(replica(1), 7);
  ASSERT_THAT(read.races(), SizeIs(1));
  EXPECT_EQ(read.races()[0].missing, "R1 of run 1 reads without a wait for S3");
}

}  // namespace
}  // namespace belfry::sim::races::race_detector_test
