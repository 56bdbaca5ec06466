// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The verbs of the members of a round, over each kind of members: a process alone, and the
// processes of a group. Each process has two replicas.
#include "belfry/detail/round_members.h"

#include "belfry/detail/merge_request.h"
#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/thread_group.h"
#include "run/processes/group_members.h"
#include "run/rounds/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::round_members {
namespace {

using detail::ByteReader;
using detail::Bytes;
using detail::ByteWriter;
using detail::RoundMembers;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr CallSite kHere{"train.cc", 11};
constexpr CallSite kElsewhere{"train.cc", 22};

std::vector<int> numbers_in(const std::vector<Bytes>& messages) {
  std::vector<int> numbers;
  for (const Bytes& message : messages) numbers.push_back(ByteReader(message).get<int>());
  return numbers;
}

// The numbers 0, 1, ... of all processes.
std::vector<int> ranks_of(const RoundMembers& members) {
  std::vector<int> ranks;
  for (int rank = 0; rank < members.processes(); ++rank) ranks.push_back(rank);
  return ranks;
}

std::vector<int> exchange_ranks(RoundMembers& members) {
  const auto write = [&](ByteWriter& out) { out.put(members.rank()); };
  return numbers_in(members.exchange("ranks", kHere, write));
}

// Calls `body` in each process of members of each kind. Afterwards the members still meet.
void on_each_kind(const std::function<void(RoundMembers&)>& body) {
  const auto use = [&](RoundMembers& members) {
    body(members);
    EXPECT_EQ(exchange_ranks(members), ranks_of(members));
  };
  RoundMembers alone(2);
  use(alone);
  for (int processes = 2; processes <= 3; ++processes) {
    run_processes(processes, [&](ProcessGroup& group) {
      detail::GroupMembers members(group, 2, "no options", kHere);
      use(members);
    });
  }
}

// The text of the error E of `body`.
template <class E>
std::string text_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(RoundMembers, NumberProcessesAndReplicas) {
  on_each_kind([](const RoundMembers& members) {
    EXPECT_EQ(members.is_alone(), members.processes() == 1);
    EXPECT_EQ(members.replicas(), 2 * members.processes());
    EXPECT_EQ(members.first_replica(members.rank()), 2 * members.rank());
    EXPECT_EQ(members.process_of(2 * members.rank() + 1), members.rank());
    EXPECT_FALSE(members.has_listeners());
    EXPECT_EQ(members.speaks_first(), members.rank() == 0);
  });
}

TEST(RoundMembers, ExchangeMessagesInOrderOfRank) {
  testing::asserts("SEM-153");
  on_each_kind([](RoundMembers& members) {
    EXPECT_THAT(exchange_ranks(members), ElementsAreArray(ranks_of(members)));
  });
}

TEST(RoundMembers, ThrowWhatAMessageThrowsAndTellTheOthers) {
  testing::asserts("SEM-154");
  on_each_kind([](RoundMembers& members) {
    const auto write = [&](ByteWriter&) {
      if (members.rank() == 0) throw std::out_of_range("row 9");
    };
    const auto exchange = [&] { members.exchange("rows", kHere, write); };
    if (members.rank() == 0) {
      EXPECT_EQ(text_of<std::out_of_range>(exchange), "row 9");
    } else {
      EXPECT_THAT(text_of<PeerFailedError>(exchange),
                  AllOf(HasSubstr("process 0 failed"), HasSubstr("row 9")));
    }
  });
}

TEST(RoundMembers, CompareMessagesWithTheOthersAlone) {
  testing::asserts("SEM-159");
  on_each_kind([](RoundMembers& members) {
    int calls = 0;
    const auto same = [&](ByteWriter& out) {
      ++calls;
      out.put(7);
    };
    EXPECT_TRUE(members.exchange_to_compare("sevens", kHere, same).empty());
    EXPECT_EQ(calls, members.is_alone() ? 0 : 1);
    // Ranks differ if there are several.
    const auto rank = [&](ByteWriter& out) { out.put(members.rank()); };
    const std::vector<Bytes> different = members.exchange_to_compare("ranks", kHere, rank);
    EXPECT_EQ(numbers_in(different), members.is_alone() ? std::vector<int>() : ranks_of(members));
  });
}

// Both replicas of this process wait in a merge at `site`; whether the members agree on the merge.
bool agree_at(CallSite site, RoundMembers& members) {
  constexpr detail::MergeType kType{detail::MergeKind::kMergeCall, "", nullptr};
  detail::MergeRequest request{&kType, site};
  detail::ReplicaStates states(2, members.first_replica(members.rank()));
  std::vector<detail::MergeRequest*> requests(static_cast<std::size_t>(members.replicas()));
  const detail::Participants present(members.table());
  for (int i = 0; i < 2; ++i) {
    const auto replica = static_cast<std::size_t>(present.id(i));
    states[replica].status = detail::ReplicaState::Status::kArrived;
    states[replica].last_site = site;
    requests[replica] = &request;
  }
  return members.agree({states, requests, present}, kHere);
}

TEST(RoundMembers, AgreeOnOneMerge) {
  testing::asserts("SEM-151");
  on_each_kind([](RoundMembers& members) {
    members.begin_run();
    EXPECT_TRUE(agree_at(kHere, members));
    EXPECT_TRUE(agree_at(kElsewhere, members));
    members.end_run();
  });
}

TEST(RoundMembers, DisagreeOnMergesAtDifferentPlaces) {
  testing::asserts("SEM-152");
  on_each_kind([](RoundMembers& members) {
    members.begin_run();
    const auto agree = [&] {
      EXPECT_TRUE(agree_at(members.rank() == 0 ? kHere : kElsewhere, members));
    };
    const std::string text = text_of<MergeMismatchError>(agree);
    members.end_run();
    if (members.is_alone()) {
      EXPECT_EQ(text, "nothing was thrown");
    } else {
      EXPECT_THAT(text, AllOf(HasSubstr("BF-011"), HasSubstr("train.cc:11  waits in merge_call"),
                              HasSubstr("train.cc:22  waits in merge_call")));
    }
  });
}

TEST(RoundMembers, TellTheFailureOfAReplica) {
  testing::asserts("SEM-154");
  on_each_kind([](RoundMembers& members) {
    members.begin_run();
    const auto failure = std::make_exception_ptr(std::out_of_range("row 9"));
    if (members.rank() == 0) {
      EXPECT_EQ(members.tell_failure(failure, 1, kElsewhere), failure);
    } else {
      EXPECT_THAT(text_of<PeerFailedError>([&] { agree_at(kHere, members); }),
                  AllOf(HasSubstr("process 0, replica 1  train.cc:22"), HasSubstr("row 9")));
    }
    members.end_run();
  });
}

TEST(RoundMembers, EndATransactionTogether) {
  testing::asserts("SEM-236");
  on_each_kind([](RoundMembers& members) {
    members.begin_transaction(kHere)->commit();
    const auto failed = members.begin_transaction(kHere);
    if (members.rank() == 0) {
      failed->fail(std::make_exception_ptr(std::out_of_range("row 9")));
    } else {
      EXPECT_THAT(text_of<PeerFailedError>([&] { failed->commit(); }), HasSubstr("row 9"));
    }
  });
}

}  // namespace
}  // namespace belfry::testing::round_members
