// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The errors of processes whose peers make other calls.
#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/asserts.h"
#include "processes/hosts.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr CallSite kFirst{"train.cpp", 11};
constexpr CallSite kSecond{"train.cpp", 22};
constexpr CallSite kUse{"train.cpp", 33};

// The text of the error of `body` on each of three hosts.
template <class E>
std::vector<std::string> texts_of_hosts(const std::function<void(sim::Host&)>& body,
                                        bool throws_at_end = false) {
  std::vector<std::string> texts(3);
  sim::Cluster cluster{{.hosts = 3}};
  cluster.run([&](sim::Host& host) {
    std::string& text = texts[static_cast<std::size_t>(host.group().rank())];
    text = text_of_error<E>([&] { body(host); });
    if (!throws_at_end) host.group().barrier();  // The group is level.
  });
  return texts;
}

TEST(Peers, MakeStrategiesInOneOrder) {
  testing::asserts("SEM-150", "SEM-152");
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_of_hosts<MergeMismatchError>([&](sim::Host& host) {
      const bool turned = host.group().rank() == odd;
      MultiWorkerMirroredStrategy strategy{
          host.backend(), host.group(), {}, turned ? kSecond : kFirst};
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-011 processes make strategies in different orders"),
                                  HasSubstr("train.cpp:11  makes a strategy"),
                                  HasSubstr("train.cpp:22  makes a strategy"))));
  }
}

TEST(Peers, UseStrategiesInOneOrder) {
  testing::asserts("SEM-152");
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_of_hosts<MergeMismatchError>([&](sim::Host& host) {
      MultiWorkerMirroredStrategy one{host.backend(), host.group(), {}, kFirst};
      MultiWorkerMirroredStrategy two{host.backend(), host.group(), {}, kSecond};
      Strategy& used = host.group().rank() == odd ? two : one;
      used.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1, kUse); });
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-011 processes use different strategies"),
                                  HasSubstr("of the strategy made at train.cpp:11"),
                                  HasSubstr("of the strategy made at train.cpp:22"))));
  }
}

// The odd process meets at a barrier, in place of a strategy.
TEST(Peers, HearOfACallOfTheGroup) {
  testing::asserts("SEM-152");
  for (int odd = 0; odd < 3; ++odd) {
    for (const bool runs : {false, true}) {
      const auto texts = texts_of_hosts<MergeMismatchError>([&](sim::Host& host) {
        std::unique_ptr<Strategy> strategy;
        const auto make = [&] {
          strategy = std::make_unique<MultiWorkerMirroredStrategy>(host.backend(), host.group(),
                                                                   StrategyOptions{}, kFirst);
        };
        if (runs) make();
        if (host.group().rank() == odd) {
          host.group().barrier(kUse);
        } else if (runs) {
          sum_of_ones(*strategy);
        } else {
          make();
        }
      });
      EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-012 processes make different calls"),
                                    HasSubstr("train.cpp:33  calls barrier"))));
      const auto other = texts[static_cast<std::size_t>((odd + 1) % 3)];
      const auto own = texts[static_cast<std::size_t>(odd)];
      if (runs) {
        EXPECT_THAT(other, HasSubstr("all_reduce"));
        EXPECT_THAT(own, HasSubstr("calls run of a strategy"));
      } else {
        EXPECT_THAT(other, AllOf(HasSubstr("makes a strategy"),
                                 HasSubstr("MultiWorkerMirroredStrategy with the group")));
        EXPECT_THAT(own, HasSubstr("train.cpp:11  calls the constructor of a strategy"));
      }
    }
  }
}

// The odd process makes a strategy of one process, and ends.
TEST(Peers, HearOfAStrategyOfOneProcess) {
  testing::asserts("SEM-155");
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_of_hosts<ProcessLostError>(
        [&](sim::Host& host) {
          if (host.group().rank() == odd) {
            MirroredStrategy alone{host.backend()};
            EXPECT_EQ(sum_of_ones(alone), 1);
          } else {
            MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
          }
        },
        true);
    const auto left = "process " + std::to_string(odd) + " has left the group";
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == odd) continue;
      EXPECT_THAT(texts[static_cast<std::size_t>(rank)],
                  AllOf(HasSubstr(left), HasSubstr("such as MirroredStrategy")));
    }
  }
}

// Two of four hosts stop at the third call.
TEST(Peers, AreAllNamedThatStopAtOneCall) {
  testing::asserts("SEM-187");
  for (int one = 0; one < 4; ++one) {
    for (int two = 0; two < one; ++two) {
      const std::vector<sim::HostFault> faults{{.host = one, .call = 3}, {.host = two, .call = 3}};
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        sim::Cluster cluster{{.hosts = 4, .seed = seed, .faults = faults}};
        std::vector<std::string> texts;
        std::vector<std::vector<int>> lost;
        cluster.run([&](sim::Host& host) {
          try {
            MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
            for (int i = 0; i < 3; ++i) sum_of_ones(strategy);
          } catch (const ProcessLostError& error) {
            texts.push_back(error.what());
            lost.push_back(host.group().health().lost);
          }
        });
        EXPECT_THAT(texts, ::testing::SizeIs(2));
        EXPECT_THAT(texts, Each(HasSubstr("processes " + std::to_string(two) + "," +
                                          std::to_string(one) + " stopped at their call 3")));
        EXPECT_THAT(lost, Each(::testing::IsSupersetOf({one, two})));
      }
    }
  }
}

}  // namespace
}  // namespace belfry::testing
