// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/explore_program.h"

#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/cluster.h"
#include "belfry/sim/explore.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "testing/broken_conditions.h"
#include "testing/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::explore_program_test {
namespace {

using testing::broken_conditions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HostMemory;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kOwnBackend = "the body uses its backend alone";

// Host memory is watched, and without a conflict unless a test writes a report.
class ExploreProgram : public ::testing::Test {
 protected:
  ExploreProgram() { host_.reset(); }

  HostMemory& host_ = HostMemory::attached();
};

// The ids of the replicas as digits, in the order of the merge or in the order of the schedule.
double digits(Backend& backend, bool merged) {
  MirroredStrategy strategy{backend};
  double total = 0;
  strategy.run([&](ReplicaContext& replica) {
    if (!merged) total = 10 * total + replica.replica_id();
    replica.merge_call(
        [&](CrossReplicaContext&, const PerReplica<double>& ids) {
          for (const double id : ids) total = merged ? 10 * total + id : total;
        },
        static_cast<double>(replica.replica_id()));
  });
  return total;
}

std::vector<double> two_backends(bool second_is_merged) {
  Backend first{{.devices = 3, .seed = 7}};
  const double of_first = digits(first, true);
  Backend second{{.devices = 2, .seed = 8}};
  return {of_first, digits(second, second_is_merged)};
}

std::vector<std::vector<std::string>> all_broken(const std::vector<JudgedBackend>& judged) {
  std::vector<std::vector<std::string>> names;
  for (const JudgedBackend& backend : judged) names.push_back(broken_conditions(backend.verdict));
  return names;
}

TEST_F(ExploreProgram, JudgesEachBackend) {
  belfry::testing::asserts("SEM-198");
  const auto judged = explore_program([] { return two_backends(true); });
  ASSERT_THAT(judged, SizeIs(2));
  for (const JudgedBackend& backend : judged) {
    EXPECT_EQ(backend.verdict.level(), VerdictLevel::kCertified) << explain(backend.verdict);
    EXPECT_EQ(backend.verdict.report().outcomes.at(0).outcome, "[12, 1]");
    EXPECT_THAT(to_string(backend.site), HasSubstr("explore_program_test.cpp:"));
  }
  EXPECT_EQ(judged[0].options, (Options{.devices = 3, .seed = 7}));
  EXPECT_EQ(judged[1].options, (Options{.devices = 2, .seed = 8}));
  EXPECT_EQ(judged[1].site.line, judged[0].site.line + 2);
}

// Unseen accesses keep both verdicts from a certificate, and the order of the second backend alone
// decides an outcome.
TEST_F(ExploreProgram, ChangesTheScheduleOfASingleBackend) {
  belfry::testing::asserts("SEM-198");
  host_.report.unseen = {"library_function"};
  const auto judged = explore_program([] { return two_backends(false); });
  ASSERT_THAT(judged, SizeIs(2));
  EXPECT_EQ(judged[0].verdict.level(), VerdictLevel::kSampled) << explain(judged[0].verdict);
  ASSERT_EQ(judged[1].verdict.level(), VerdictLevel::kRefuted) << explain(judged[1].verdict);
  std::vector<double> outcomes;
  for (const std::string& token : judged[1].verdict.tokens()) {
    Options options = judged[1].options;
    options.schedule = Schedule::replay(token);
    Backend backend{options};
    outcomes.push_back(digits(backend, false));
  }
  std::ranges::sort(outcomes);
  EXPECT_THAT(outcomes, ElementsAre(1.0, 10.0));
}

// Backends at one address, one after the other.
TEST_F(ExploreProgram, JudgesBackendsOfALoop) {
  const auto judged = explore_program([] {
    std::vector<double> all;
    for (const int devices : {1, 2, 3}) {
      Backend backend{{.devices = devices}};
      all.push_back(digits(backend, true));
    }
    return all;
  });
  EXPECT_THAT(all_broken(judged), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
}

// Writes 5 to a buffer of the device, and reads the buffer.
float use(Backend& backend) {
  Stream& stream = backend.device(0).compute_stream();
  const BufferView view = view_of(backend.device(0).allocate(4, stream), DType::kFloat32);
  float value = 5.0F;
  stream.write(view, &value);
  value = 0;
  stream.read(&value, view);
  return value;
}

// The merge is outside of replicas, and runs while all of them wait.
TEST_F(ExploreProgram, CertifiesASecondBackendInAMerge) {
  belfry::testing::asserts("SEM-198");
  const auto judged = explore_program([] {
    Backend first{{.devices = 2}};
    Backend second{{.devices = 1}};
    MirroredStrategy strategy{first};
    return strategy.run([&](ReplicaContext& replica) {
      return replica.merge_call([&](CrossReplicaContext&) { return use(second); });
    })[1];
  });
  EXPECT_THAT(all_broken(judged), ElementsAre(IsEmpty(), IsEmpty()));
  EXPECT_EQ(judged.at(0).verdict.report().outcomes.at(0).outcome, "5");
}

TEST_F(ExploreProgram, CertifiesNoSecondBackendInAReplica) {
  belfry::testing::asserts("SEM-198");
  for (int odd = 0; odd < 3; ++odd) {
    const auto judged = explore_program([odd] {
      Backend first{{.devices = 3}};
      Backend second{{.devices = 1}};
      MirroredStrategy strategy{first};
      return strategy.run([&](ReplicaContext& replica) {
        return replica.replica_id() == odd ? use(second) : 0;
      })[odd];
    });
    EXPECT_THAT(all_broken(judged), ElementsAre(ElementsAre(kOwnBackend), IsEmpty()));
    EXPECT_THAT(explain(judged[0].verdict), HasSubstr("a replica uses a second backend"));
  }
}

TEST_F(ExploreProgram, CertifiesNoDeviceWorkForASecondBackendInReplicas) {
  belfry::testing::asserts("SEM-198");
  for (int odd = 0; odd < 3; ++odd) {
    const auto judged = explore_program([odd] {
      Backend first{{.devices = 3}};
      Backend second{{.devices = 3}};
      MirroredStrategy other{second};
      const auto shared = Tensor<float>::full(Shape{2}, 4.0F, other.placement(odd));
      MirroredStrategy strategy{first};
      return strategy.run([&](ReplicaContext& replica) {
        return replica.replica_id() == odd ? shared.to_host()[0] : 0;
      })[odd];
    });
    EXPECT_THAT(all_broken(judged), ElementsAre(ElementsAre(kOwnBackend), IsEmpty()));
  }
}

TEST_F(ExploreProgram, CertifiesNoBackendOfAnEarlierRun) {
  belfry::testing::asserts("SEM-198");
  std::optional<Backend> kept;
  const auto judged = explore_program([&] {
    if (!kept) kept.emplace(Options{.devices = 2});
    Backend backend{{.devices = 2}};
    return digits(*kept, true) + digits(backend, true);
  });
  EXPECT_THAT(all_broken(judged), ElementsAre(ElementsAre(kOwnBackend), ElementsAre(kOwnBackend)));
  EXPECT_THAT(explain(judged[1].verdict), HasSubstr("further backends than in its first run"));
}

TEST_F(ExploreProgram, CertifiesNoBackendFromOutside) {
  belfry::testing::asserts("SEM-198");
  Backend outside{{.devices = 2}};
  const auto program = [&](bool uses) {
    return [&outside, uses] {
      Backend backend{{.devices = 2}};
      return digits(backend, true) + (uses ? digits(outside, true) : 0);
    };
  };
  EXPECT_THAT(all_broken(explore_program(program(false))), ElementsAre(IsEmpty()));
  EXPECT_THAT(all_broken(explore_program(program(true))), ElementsAre(ElementsAre(kOwnBackend)));
}

TEST_F(ExploreProgram, CertifiesNoExplorationInAProgram) {
  belfry::testing::asserts("SEM-198");
  const auto judged = explore_program([] {
    Backend backend{{.devices = 2}};
    const Verdict inner = explore({.devices = 2}, [](Backend& own) { return digits(own, true); });
    return digits(backend, true) + (inner.level() == VerdictLevel::kSampled ? 10 : 0);
  });
  EXPECT_THAT(all_broken(judged), ElementsAre(ElementsAre(kOwnBackend)));
  EXPECT_EQ(judged.at(0).verdict.report().outcomes.at(0).outcome, "11");
}

TEST_F(ExploreProgram, HasNoVerdictOnABackendWithAnObserver) {
  belfry::testing::asserts("SEM-198");
  class Silent final : public Observer {
    void observe(const Observation&) override {}
  } silent;
  const auto judged = explore_program([&] {
    Backend backend{{.devices = 2}, Attachments{.observer = &silent}};
    return digits(backend, true);
  });
  ASSERT_THAT(judged, SizeIs(1));
  EXPECT_EQ(judged[0].verdict.level(), VerdictLevel::kNone);
  EXPECT_THAT(explain(judged[0].verdict), HasSubstr("Chooser or an observer"));
}

TEST_F(ExploreProgram, TakesExceptionsForOutcomes) {
  belfry::testing::asserts("SEM-198");
  const auto judged = explore_program([] {
    try {
      Backend none{{.devices = 0}};  // Refused, and no backend of the program.
    } catch (const InvalidArgumentError&) {
    }
    Backend backend{{.devices = 2}};
    (void)digits(backend, true);
    throw std::runtime_error("after the run");
  });
  ASSERT_THAT(judged, SizeIs(1));
  EXPECT_EQ(judged[0].verdict.level(), VerdictLevel::kCertified) << explain(judged[0].verdict);
  EXPECT_EQ(judged[0].verdict.report().outcomes.at(0).outcome, "an exception: after the run");
}

struct Double {
  void on_host(std::span<float> x) const {
    for (float& element : x) element *= 2;
  }
};

TEST_F(ExploreProgram, ChecksKernels) {
  belfry::testing::asserts("SEM-196");
  const auto judged = explore_program([] {
    Backend backend{{.devices = 1}};
    MirroredStrategy strategy{backend};
    return strategy.run([](ReplicaContext&) {
      auto x = Tensor<float>::full({2}, 1.5F);
      launch(Double{}, updates(x));
      return x.to_host()[1];
    })[0];
  });
  EXPECT_THAT(all_broken(judged), ElementsAre(IsEmpty()));
  EXPECT_EQ(judged.at(0).verdict.report().outcomes.at(0).outcome, "3");
  EXPECT_FALSE(judged.at(0).options.check_kernels);
}

// The cluster has one schedule of all its hosts. The backend beside the cluster is judged.
TEST_F(ExploreProgram, HasNoVerdictOnTheHostsOfACluster) {
  belfry::testing::asserts("SEM-198");
  int line = 0;
  const auto judged = explore_program([&] {
    Backend backend{{.devices = 2}};
    double sum = digits(backend, true);
    Cluster cluster{{.hosts = 2}};
    line = __LINE__ + 1;
    cluster.run([&](Host& host) { sum += digits(host.backend(), true); });
    return sum;
  });
  ASSERT_THAT(judged, SizeIs(3));
  EXPECT_EQ(judged[0].verdict.level(), VerdictLevel::kCertified) << explain(judged[0].verdict);
  for (const std::size_t host : {1U, 2U}) {
    EXPECT_EQ(judged[host].verdict.level(), VerdictLevel::kNone);
    EXPECT_THAT(explain(judged[host].verdict), HasSubstr("belongs to a host of a cluster"));
    EXPECT_THAT(to_string(judged[host].site),
                ::testing::EndsWith("explore_program_test.cpp:" + std::to_string(line)));
  }
}

// Each replica in turn runs a cluster.
TEST_F(ExploreProgram, CertifiesNoClusterInAReplica) {
  belfry::testing::asserts("SEM-198");
  for (int odd = 0; odd < 3; ++odd) {
    const auto judged = explore_program([odd] {
      Backend backend{{.devices = 3}};
      MirroredStrategy strategy{backend};
      strategy.run([odd](ReplicaContext& replica) {
        if (replica.replica_id() != odd) return;
        Cluster cluster{{.hosts = 1}};
        cluster.run([](Host&) {});
      });
    });
    EXPECT_THAT(broken_conditions(judged.at(0).verdict), ElementsAre(kOwnBackend));
    EXPECT_THAT(explain(judged.at(0).verdict), HasSubstr("a replica runs a cluster"));
  }
}

}  // namespace
}  // namespace belfry::sim::explore_program_test
