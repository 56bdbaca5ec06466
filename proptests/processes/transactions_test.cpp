// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Transactions over three hosts with the replicas 0 and 1, 2, and 3 to 5. A mirrored variable
// begins with 1, and each component of a replica-local variable with 2.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/hosts.h"
#include "processes/listeners.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::transactions {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

struct Two {
  explicit Two(Strategy& strategy)
      : weight(strategy.mirrored_variable(1.0)),
        count(strategy.replica_local_variable(ReduceOp::kSum, 2.0)) {}

  void change(CrossReplicaContext& cross) const {
    cross.update(weight, [](double& own) { own += 10; });
    cross.assign_each(count, 7.0);
    cross.update(count, [](double& own) { own += 1; });
  }
  void expect(Strategy& strategy, double of_weight, double of_count) const {
    EXPECT_EQ(strategy.read(weight), of_weight);
    EXPECT_THAT(strategy.local_values(count), Each(of_count));
    EXPECT_EQ(strategy.read(count), 6 * of_count);
  }

  MirroredVariable<double> weight;
  ReplicaLocalVariable<double> count;
};

// The text of the exception of `transaction` on each host. No variable has changed on any host.
std::vector<std::string> texts_of(
    const std::function<void(Strategy&, int rank, const Two&)>& transaction) {
  std::vector<std::string> texts(3);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const Two two(strategy);
    const int rank = host.group().rank();
    texts[static_cast<std::size_t>(rank)] =
        text_of_error<std::exception>([&] { transaction(strategy, rank, two); });
    two.expect(strategy, 1, 2);
  });
  return texts;
}

void expect_failure_of(int odd, const std::vector<std::string>& texts) {
  const std::string name = "process " + std::to_string(odd);
  const auto of_peer =
      AllOf(HasSubstr("BF-071"), HasSubstr(name + " failed: std::runtime_error \"planned\""));
  for (int rank = 0; rank < 3; ++rank) {
    const std::string& text = texts[static_cast<std::size_t>(rank)];
    if (rank == odd) {
      EXPECT_EQ(text, "planned");
    } else {
      EXPECT_THAT(text, of_peer);
    }
  }
}

TEST(Transactions, KeepTheChangesIfTheFunctionReturnsInAllProcesses) {
  testing::asserts("SEM-236");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const Two two(strategy);
    EXPECT_EQ(strategy.transaction([&] {
      two.change(strategy.cross_replica());
      return 5;
    }),
              5);
    two.expect(strategy, 11, 8);
  });
}

TEST(Transactions, FailInAllProcessesIfTheFunctionThrowsInOne) {
  testing::asserts("SEM-236");
  // The others have returned from the function.
  at_each_place(3, [](int odd) {
    expect_failure_of(odd, texts_of([&](Strategy& strategy, int rank, const Two& two) {
                        strategy.transaction([&] {
                          two.change(strategy.cross_replica());
                          if (rank == odd) throw std::runtime_error("planned");
                        });
                      }));
  });
}

TEST(Transactions, EndInTheNextCallOfTheOtherProcesses) {
  testing::asserts("SEM-236");
  at_each_place(9, [](int place) {
    const int odd = place / 3;
    const bool catches = place % 3 == 1;
    const bool runs = place % 3 == 2;
    const auto texts = texts_of([&](Strategy& strategy, int rank, const Two& two) {
      strategy.transaction([&] {
        two.change(strategy.cross_replica());
        if (rank == odd) throw std::runtime_error("planned");
        try {
          if (runs) sum_of_ones(strategy);
          if (!runs) strategy.read(two.count);
        } catch (const PeerFailedError&) {
          if (!catches) throw;
        }
      });
    });
    if (!catches) return expect_failure_of(odd, texts);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(texts[static_cast<std::size_t>(rank)],
                  HasSubstr(rank == odd ? "planned" : "BF-071"));
    }
  });
}

TEST(Transactions, FailWithTheRunInTheFunction) {
  testing::asserts("SEM-236");
  at_each_place(6, [](int odd) {
    expect_failure_of(process_of(odd), texts_of([&](Strategy& strategy, int, const Two& two) {
                        strategy.transaction([&] {
                          two.change(strategy.cross_replica());
                          strategy.run([&](ReplicaContext& replica) {
                            if (replica.replica_id() == odd) throw std::runtime_error("planned");
                            return replica.all_reduce(ReduceOp::kSum, 1);
                          });
                        });
                      }));
  });
}

TEST(Transactions, ThrowTheOwnExceptionOfEachProcess) {
  testing::asserts("SEM-236");
  const auto texts = texts_of([](Strategy& strategy, int rank, const Two& two) {
    strategy.transaction([&] {
      two.change(strategy.cross_replica());
      throw std::runtime_error("of " + std::to_string(rank));
    });
  });
  EXPECT_THAT(texts, ::testing::ElementsAre("of 0", "of 1", "of 2"));
}

TEST(Transactions, AreCallsOfAllProcesses) {
  testing::asserts("SEM-236");
  at_each_place(3, [](int odd) {
    const auto texts = texts_of([&](Strategy& strategy, int rank, const Two& two) {
      if (rank == odd) {
        strategy.read(two.count);
      } else {
        strategy.transaction([] {});
      }
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-012"), HasSubstr("calls transaction"))));
  });
}

TEST(Transactions, NestInAllProcesses) {
  testing::asserts("SEM-236");
  at_each_place(3, [](int odd) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const Two two(strategy);
      CrossReplicaContext& cross = strategy.cross_replica();
      strategy.transaction([&] {
        two.change(cross);
        try {
          strategy.transaction([&] {
            two.change(cross);
            if (host.group().rank() == odd) throw std::runtime_error("inner");
          });
          ADD_FAILURE() << "nothing was thrown";
        } catch (const PeerFailedError&) {
          EXPECT_NE(host.group().rank(), odd);
        } catch (const std::runtime_error&) {
          EXPECT_EQ(host.group().rank(), odd);
        }
        strategy.transaction([&] { cross.assign_each(two.count, 9.0); });
      });
      two.expect(strategy, 11, 9);
    });
  });
}

// Process `odd` fails in the outer transaction, and the other processes fail in the inner
// transaction at the same time: the outer transaction is over in all processes.
TEST(Transactions, EndWithTheOutermostThatFails) {
  testing::asserts("SEM-236");
  at_each_place(3, [](int odd) {
    const auto texts = texts_of([&](Strategy& strategy, int rank, const Two& two) {
      strategy.transaction([&] {
        two.change(strategy.cross_replica());
        if (rank == odd) throw std::runtime_error("planned");
        EXPECT_THROW(strategy.transaction([&] { throw std::out_of_range("inner"); }),
                     std::out_of_range);
      });
    });
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(texts[static_cast<std::size_t>(rank)],
                  HasSubstr(rank == odd ? "planned" : "a transaction has failed in another"));
    }
  });
}

TEST(Transactions, InMergesRestoreTheVariablesOfProcessesThatListen) {
  testing::asserts("SEM-236");
  at_each_place(3, [](int listener) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
      const Two two(strategy);
      merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
        const auto failed = [&] {
          two.change(cross);
          strategy.transaction([&] { two.change(cross); });
          throw std::runtime_error("undo");
        };
        EXPECT_THROW(strategy.transaction(failed), std::runtime_error);
        EXPECT_EQ(strategy.read(two.weight), 1);
        EXPECT_EQ(strategy.read(two.count), 12);
        strategy.transaction([&] {
          two.change(cross);
          EXPECT_THROW(strategy.transaction(failed), std::runtime_error);
        });
      });
      two.expect(strategy, 11, 8);
    });
  });
}

TEST(Transactions, InAMergeThatFailInOneProcessFailTheRun) {
  testing::asserts("SEM-236");
  // Process `odd` fails, and a different process listens.
  at_each_place(6, [](int place) {
    const int odd = place / 2;
    const int listener = (odd + 1 + place % 2) % 3;
    expect_failure_of(odd, texts_of([&](Strategy& strategy, int rank, const Two& two) {
                        merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
                          try {
                            strategy.transaction([&] {
                              two.change(cross);
                              if (rank == odd) throw std::runtime_error("planned");
                            });
                          } catch (const std::exception&) {
                            // The run fails, as other processes have failed.
                          }
                        });
                      }));
  });
}

}  // namespace
}  // namespace belfry::testing::transactions
