// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The decisions of a strategy's hooks, and belfry's errors for hooks that break their rules.
#include "belfry/strategy_hooks.h"

#include "belfry/backend/host_backend.h"
#include "belfry/strategy.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/vjp.h"
#include "run/testing/error_of_test.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::strategy_hooks_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Each hook calls a function that a test may replace.
class HookedStrategy final : public Strategy {
 public:
  explicit HookedStrategy(Backend& backend)
      : Strategy(backend, StrategyOptions{}, CallSite::here()) {}

  std::function<VariablePlaces()> place;
  std::function<void(ComponentWork&)> initialise;
  std::function<void(ComponentWork&)> update;
  std::function<void(const ReduceCall&)> reduce_hook;
  std::function<void(StrategyStep&)> run_hook;
  std::function<void(StrategyStep&)> merge_hook;
  std::function<std::vector<AnyTensor>(const AnyTensor&, std::span<const Placement>)> broadcast;
  std::vector<std::string> log;

 private:
  VariablePlaces do_place(Synchronization kind) const override {
    return place ? place() : Strategy::do_place(kind);
  }
  void do_initialise(ComponentWork& work) override {
    log.emplace_back("initialise");
    initialise ? initialise(work) : Strategy::do_initialise(work);
  }
  void do_update(ComponentWork& work) override {
    log.emplace_back("update");
    update ? update(work) : Strategy::do_update(work);
  }
  void do_reduce(const ReduceCall& call) override {
    log.emplace_back("reduce");
    reduce_hook ? reduce_hook(call) : Strategy::do_reduce(call);
  }
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override {
    log.emplace_back("broadcast");
    return broadcast ? broadcast(source, targets) : Strategy::do_broadcast(source, targets);
  }
  void do_run(StrategyStep& replicas) override {
    log.emplace_back(replicas.nested() ? "nested run" : "run");
    run_hook ? run_hook(replicas) : Strategy::do_run(replicas);
  }
  void do_merge(StrategyStep& merge) override {
    log.emplace_back(merge.what());
    merge_hook ? merge_hook(merge) : Strategy::do_merge(merge);
  }
};

class Hooks : public ::testing::Test {
 protected:
  static std::string broken(const auto& body) {
    const ErrorReport report = report_of(body);
    EXPECT_EQ(report.code, ErrorCode::kStrategyContract);
    return report.summary;
  }

  HostBackend backend_{3};
  HookedStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(Hooks, AreAskedInTheOrderOfTheWork) {
  const auto w = strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 1.0F); },
                                             {.aggregation = Aggregation::kSum});
  strategy_.run([&](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, 1.0F);
    replica.assign(w, Tensor<float>::full({1}, 1.0F));
    replica.merge_call([](CrossReplicaContext& cross) { cross.run([](ReplicaContext&) {}); });
  });
  EXPECT_THAT(strategy_.log, ElementsAre("initialise", "broadcast", "run", "all_reduce", "reduce",
                                         "assign", "reduce", "update", "merge_call", "nested run"));
}

TEST_F(Hooks, MayComputeOneComponentAndCopyIt) {
  testing::asserts("SEM-112", "SEM-113");
  const auto one_then_copies = [](ComponentWork& work) {
    work.compute(1);
    work.copy_from(1);
  };
  strategy_.initialise = strategy_.update = one_then_copies;
  int calls = 0;
  const auto w = strategy_.mirrored_variable([&] {
    ++calls;
    return Tensor<float>::full({1}, 5.0F);
  });
  const auto returned = cross_.update(w, [&](Tensor<float>& component) {
    ++calls;
    component = add(component, 1.0F);
    return component;
  });
  EXPECT_EQ(calls, 2);
  for (int replica = 0; replica < 3; ++replica) {
    const Tensor<float> component = strategy_.local_values(w)[replica];
    EXPECT_EQ(component.item(), 6.0F);
    EXPECT_EQ(component.placement(), strategy_.placement(replica));
    EXPECT_EQ(returned[replica].placement(), strategy_.placement(replica));
    EXPECT_EQ(returned[replica].item(), 6.0F);
  }
}

TEST_F(Hooks, MayNotCopyWhatReplicasHaveOfTheirOwn) {
  testing::asserts("SEM-113");
  const auto local = strategy_.replica_local_variable(ReduceOp::kSum, 1, {.name = "seen"});
  strategy_.update = [](ComponentWork& work) {
    EXPECT_FALSE(work.ends_equal());
    work.compute(0);
    work.copy_from(0);
  };
  EXPECT_EQ(broken([&] { cross_.update(local, [](int& component) { ++component; }); }),
            "a strategy copied component 0 of replica-local seen in an update");
}

TEST_F(Hooks, MayPlaceComponentsOnOtherDevicesThanReplicas) {
  // Component 0 on device 2, for replicas 0 and 1; component 1 on device 0, for replica 2.
  strategy_.place = [] { return VariablePlaces{{2, 0}, {0, 0, 1}}; };
  const auto w = strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 5.0F); });
  EXPECT_THAT(w.devices(), ElementsAre(backend_.device_spec(2), backend_.device_spec(0)));
  cross_.update(w, [](Tensor<float>& component) { component = add(component, 1.0F); });
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    return w.on(replica).placement() == replica.placement() ? w.on(replica).item() : -1.0F;
  });
  EXPECT_THAT(seen, Each(6.0F));
  EXPECT_EQ(strategy_.read(w).item(), 6.0F);
}

// Replica 0 sees component 1, replica 1 component 2.
TEST_F(Hooks, MayPlaceComponentsInAnotherOrderThanReplicas) {
  strategy_.place = [] { return VariablePlaces{{2, 0, 1}, {1, 2, 0}}; };
  const auto w = strategy_.mirrored_variable(5);
  int calls = 0;
  const auto results = cross_.update(w, [&](int&) { return std::make_unique<int>(calls++); });
  EXPECT_THAT(std::vector<int>({*results[0], *results[1], *results[2]}), ElementsAre(1, 2, 0));
  strategy_.place = [] { return VariablePlaces{{2, 0}, {0, 0, 1}}; };
  const auto shared = strategy_.mirrored_variable(5);
  EXPECT_THAT(
      error_of([&] { cross_.update(shared, [](int&) { return std::make_unique<int>(1); }); }),
      HasSubstr("BF-080"));
}

TEST_F(Hooks, MayWorkBeforeAndAfterARun) {
  testing::asserts("SEM-115");
  const auto count = strategy_.replica_local_variable(ReduceOp::kSum, 0);
  strategy_.run_hook = [&](StrategyStep& replicas) {
    replicas.carry_out();
    if (replicas.nested()) return;
    cross_.update(count, [](int& component) { component *= 10; });
    strategy_.run([&](ReplicaContext& replica) { count.on(replica) += 1; });
  };
  strategy_.run([&](ReplicaContext& replica) { count.on(replica) = replica.replica_id(); });
  EXPECT_THAT(strategy_.local_values(count), ElementsAre(1, 11, 21));
}

TEST_F(Hooks, ThatForgetOrRepeatAStepAreReported) {
  testing::asserts("SEM-115", "SEM-116");
  const auto nothing = [](ReplicaContext&) {};
  strategy_.run_hook = [](StrategyStep&) {};
  EXPECT_EQ(broken([&] { strategy_.run(nothing); }), "a strategy carried out one run not at all");
  strategy_.run_hook = [](StrategyStep& step) {
    step.carry_out();
    step.carry_out();
  };
  EXPECT_EQ(broken([&] { strategy_.run(nothing); }), "a strategy carried out one run twice");
  strategy_.run_hook = {};
  const auto merging = [](ReplicaContext& replica) {
    return replica.merge_call([](CrossReplicaContext&) { return 1; });
  };
  strategy_.merge_hook = [](StrategyStep&) {};
  EXPECT_EQ(broken([&] { strategy_.run(merging); }),
            "a strategy carried out one merge_call not at all");
  EXPECT_EQ(strategy_.last_failure()->replicas.size(), 3U);
  strategy_.merge_hook = [](StrategyStep& step) {
    step.carry_out();
    step.carry_out();
  };
  EXPECT_EQ(broken([&] { strategy_.run(merging); }), "a strategy carried out one merge_call twice");
  strategy_.merge_hook = {};
  EXPECT_THAT(strategy_.run(merging), Each(1));
}

// A hook starts its verb before or after its work: the functions of the program, which the work
// carries out, do not change the depth of the hook.
TEST_F(Hooks, ThatRunOrMergeAgainWithoutEndAreReported) {
  const std::string depth = " of a strategy called itself again, 32 calls within one another";
  const auto nothing = [](ReplicaContext&) {};
  const auto meet = [](ReplicaContext& replica) {
    replica.merge_call([](CrossReplicaContext&) {});
  };
  for (const bool is_before : {true, false}) {
    strategy_.log.clear();
    strategy_.run_hook = [&](StrategyStep& replicas) {
      if (!is_before) replicas.carry_out();
      strategy_.run(nothing);
      if (is_before) replicas.carry_out();
    };
    EXPECT_EQ(broken([&] { strategy_.run(nothing); }), "do_run" + depth);
    EXPECT_EQ(strategy_.log.size(), 32U);
    strategy_.run_hook = nullptr;
    strategy_.merge_hook = [&](StrategyStep& merge) {
      if (!is_before) merge.carry_out();
      strategy_.run(meet);
      if (is_before) merge.carry_out();
    };
    EXPECT_EQ(broken([&] { strategy_.run(meet); }), "do_merge" + depth);
    strategy_.merge_hook = nullptr;
    const auto sum = [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1); };
    EXPECT_THAT(strategy_.run(sum), Each(3)) << "afterwards the strategy works";
  }
}

TEST_F(Hooks, ThatStartAVerbAgainWithoutEndAreReported) {
  testing::asserts("SEM-145");
  const auto w = strategy_.mirrored_variable(1.0);
  const auto increase = [](double& component) { component += 1; };
  strategy_.update = [&](ComponentWork&) { cross_.update(w, increase); };
  EXPECT_EQ(broken([&] { cross_.update(w, increase); }),
            "do_update of a strategy called itself again, 32 calls within one another");
  EXPECT_EQ(strategy_.read(w), 1.0);
  strategy_.initialise = [&](ComponentWork&) { strategy_.mirrored_variable(1.0); };
  EXPECT_EQ(broken([&] { strategy_.mirrored_variable(1.0); }),
            "do_initialise of a strategy called itself again, 32 calls within one another");
  const PerReplica<double> values{1.0, 2.0, 3.0};
  strategy_.reduce_hook = [&](const ReduceCall&) { cross_.reduce(ReduceOp::kSum, values); };
  EXPECT_EQ(broken([&] { cross_.reduce(ReduceOp::kSum, values); }),
            "do_reduce of a strategy called itself again, 32 calls within one another");
  const Tensor<float> tensor = Tensor<float>::full({1}, 1.0F, strategy_.placement(0));
  strategy_.broadcast = [&](const AnyTensor&, std::span<const Placement>) {
    cross_.broadcast(tensor);
    return std::vector<AnyTensor>();
  };
  EXPECT_EQ(broken([&] { cross_.broadcast(tensor); }),
            "do_broadcast of a strategy called itself again, 32 calls within one another");
}

// The hook starts a run within each run of the program, at any depth.
TEST_F(Hooks, MayStartTheirVerbAgain) {
  testing::asserts("SEM-145");
  strategy_.run_hook = [&](StrategyStep& replicas) {
    if (!replicas.nested()) {
      for (int i = 0; i < 40; ++i) strategy_.run([](ReplicaContext&) {});
    }
    replicas.carry_out();
  };
  std::function<int(int)> depth = [&](int left) {
    if (left == 0) return 0;
    return 1 + strategy_.run([&](ReplicaContext& replica) {
      return replica.merge_call([&](CrossReplicaContext&) { return depth(left - 1); });
    })[0];
  };
  EXPECT_EQ(depth(40), 40);
}

TEST_F(Hooks, CannotHideAFailure) {
  testing::asserts("SEM-117");
  const auto swallow = [](StrategyStep& step) {
    try {
      step.carry_out();
    } catch (...) {
    }
  };
  const auto replace = [](StrategyStep& step) {
    try {
      step.carry_out();
    } catch (...) {
      throw std::logic_error("another one");
    }
  };
  for (const std::function<void(StrategyStep&)>& hook :
       {std::function<void(StrategyStep&)>(swallow), std::function<void(StrategyStep&)>(replace)}) {
    strategy_.run_hook = strategy_.merge_hook = hook;
    EXPECT_THROW(strategy_.run([](ReplicaContext&) { throw std::runtime_error("replica"); }),
                 std::runtime_error);
    EXPECT_THROW(strategy_.run([](ReplicaContext& replica) {
      replica.merge_call([](CrossReplicaContext&) { throw std::runtime_error("merge"); });
    }),
                 std::runtime_error);
  }
}

// ReplicaCancelled is only for replicas of a failed run (SEM-7); the thrower makes no difference.
TEST_F(Hooks, LetNoCancellationOutOfARun) {
  constexpr CallSite kHere{"train.cc", 7};
  const auto run = [&](const std::function<void(ReplicaContext&)>& replica) {
    strategy_.run_at(kHere, replica);
  };
  const auto nothing = [](ReplicaContext&) {};
  const auto merging = [](ReplicaContext& replica) {
    replica.merge_call([](CrossReplicaContext&) {});
  };
  const auto before = [](StrategyStep&) { throw ReplicaCancelled(); };
  const auto after = [](StrategyStep& step) {
    step.carry_out();
    throw ReplicaCancelled();
  };
  for (const std::function<void(StrategyStep&)>& hook :
       {std::function<void(StrategyStep&)>(before), std::function<void(StrategyStep&)>(after)}) {
    strategy_.run_hook = hook;
    EXPECT_THAT(
        error_of([&] { run(nothing); }),
        AllOf(HasSubstr("BF-003 do_run threw belfry::ReplicaCancelled"), HasSubstr("train.cc:7")));
    strategy_.run_hook = {};
    strategy_.merge_hook = hook;
    EXPECT_THAT(error_of([&] { run(merging); }),
                HasSubstr("BF-003 merge_call threw belfry::ReplicaCancelled"));
    strategy_.merge_hook = {};
  }
  // A failure of the run itself comes first.
  strategy_.run_hook = [](StrategyStep& step) {
    try {
      step.carry_out();
    } catch (...) {
      throw ReplicaCancelled();
    }
  };
  EXPECT_THROW(run([](ReplicaContext&) { throw std::runtime_error("replica"); }),
               std::runtime_error);
  strategy_.run_hook = {};
  EXPECT_EQ(error_of([&] { run(merging); }), "nothing was thrown");
}

TEST_F(Hooks, ThatLeaveComponentsWithoutValuesAreReported) {
  testing::asserts("SEM-113");
  const auto w = strategy_.mirrored_variable(1, {.name = "w"});
  const auto increment = [](int& component) { component += 1; };
  strategy_.update = [](ComponentWork& work) { work.compute(0); };
  EXPECT_EQ(broken([&] { cross_.update(w, increment); }),
            "a strategy left component 1 of w without a value");
  strategy_.update = [](ComponentWork& work) {
    work.compute(0);
    work.compute(0);
  };
  EXPECT_EQ(broken([&] { cross_.update(w, increment); }),
            "a strategy computed component 0 of w twice");
  strategy_.update = [](ComponentWork& work) { work.copy_from(2); };
  EXPECT_EQ(broken([&] { cross_.update(w, increment); }),
            "a strategy copied component 2 of w, which has no value");
  strategy_.update = [](ComponentWork& work) { work.compute(3); };
  EXPECT_EQ(broken([&] { cross_.update(w, increment); }), "a strategy named component 3 of w");
  EXPECT_THAT(strategy_.local_values(w), Each(1));
}

TEST_F(Hooks, ThatPlaceVariablesNowhereAreReported) {
  testing::asserts("SEM-110");
  const auto make = [&] { strategy_.mirrored_variable(1); };
  strategy_.place = [] { return VariablePlaces{}; };
  EXPECT_EQ(broken(make), "a strategy has no place for a variable");
  strategy_.place = [] { return VariablePlaces{{7}, {0, 0, 0}}; };
  EXPECT_EQ(broken(make), "a strategy places variables on device 7");
  strategy_.place = [] { return VariablePlaces{{0}, {0, 0}}; };
  EXPECT_EQ(broken(make), "a strategy places variables for 2 replicas");
  strategy_.place = [] { return VariablePlaces{{0}, {0, 0, 1}}; };
  EXPECT_EQ(broken(make), "a strategy lets a replica see component 1");
  strategy_.place = [] { return VariablePlaces::in_one_place(0, 3); };
  EXPECT_EQ(broken([&] { strategy_.replica_local_variable(ReduceOp::kSum, 1); }),
            "a strategy lets replicas share a component of a replica-local variable");
  strategy_.place = [] { return VariablePlaces{{2, 1, 0}, {0, 1, 2}}; };
  EXPECT_EQ(broken([&] { strategy_.replica_local_variable(ReduceOp::kSum, 1); }),
            "a strategy places a replica-local variable away from the replicas that write it");
}

TEST_F(Hooks, ThatBroadcastSomethingElseAreReported) {
  testing::asserts("SEM-114");
  const auto source = Tensor<float>::full({2}, 1.0F, strategy_.placement(0));
  strategy_.broadcast = [](const AnyTensor&, std::span<const Placement>) {
    return std::vector<AnyTensor>{};
  };
  EXPECT_EQ(broken([&] { cross_.broadcast(source); }), "a strategy broadcast 0 copies");
  const PerReplica<Tensor<float>> reduced{source, source, source};
  EXPECT_EQ(broken([&] { reduce_vjp(cross_, ReduceOp::kSum, reduced, source); }),
            "a strategy broadcast 0 copies");
  strategy_.broadcast = [](const AnyTensor& tensor, std::span<const Placement> targets) {
    return std::vector<AnyTensor>(targets.size(), tensor);
  };
  EXPECT_EQ(broken([&] { cross_.broadcast(source); }),
            "copy 1 of a broadcast is on another device");
  strategy_.broadcast = [](const AnyTensor&, std::span<const Placement> targets) {
    std::vector<AnyTensor> copies;
    for (const Placement& target : targets) {
      copies.push_back(AnyTensor::allocate(DType::kFloat32, Shape({3}), target));
    }
    return copies;
  };
  EXPECT_EQ(broken([&] { cross_.broadcast(source); }),
            "copy 0 of a broadcast has another shape or type");
}

}  // namespace
}  // namespace belfry::strategy_hooks_test
