// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tensors over memory of the program's own on simulated devices: place, counts, failures, and the
// end of the owner under every schedule.
#include "belfry/belfry.h"
#include "belfry/dlpack.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "testing/under_schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace belfry::sim::foreign_tensors_test {
namespace {

using ::testing::ElementsAre;
using testing::under_schedules;

// y += scale * x.
struct ScaleAndAdd {
  float scale = 1;
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += scale * x[i];
  }
};

// A copy of all bytes shares the bytes of simulated memory, and never the program's.
TEST(ForeignTensors, ShareNoBytesWithCopies) {
  belfry::testing::asserts("SEM-180");
  under_schedules([](Backend& backend) {
    std::vector<float> mine{1, 2};
    const auto y = Tensor<float>::over({2}, std::span(mine), Placement{&backend, 0});
    const auto away = y.copy_to({&backend, 1});
    EXPECT_THAT(away.to_host(), ElementsAre(1, 2));
    mine = {5, 6};
    EXPECT_THAT(away.to_host(), ElementsAre(1, 2));
    auto back = Tensor<float>::over({2}, std::span(mine), Placement{&backend, 1});
    backend.device(1).compute_stream().copy(back.any().view(), away.any().view());
    EXPECT_THAT(back.to_host(), ElementsAre(1, 2));
    EXPECT_THAT(mine, ElementsAre(1, 2));
  });
}

// The owner's end calls the backend: no lock is held then.
TEST(ForeignTensors, ReleaseTheirOwnersAfterTheWork) {
  belfry::testing::asserts("SEM-182");
  under_schedules([](Backend& backend) {
    const Placement on{&backend, 0};
    std::vector<float> mine{1, 2};
    int ended = 0;
    float seen = 0;
    {
      const std::shared_ptr<const void> owner(static_cast<const void*>(mine.data()),
                                              [&](const void*) {
                                                ended += 1;
                                                seen = mine[1];
                                                Tensor<float>::full({1}, 3, on).item();
                                              });
      auto y = Tensor<float>::over({2}, std::span(mine), on, owner);
      launch(ScaleAndAdd{10}, updates(y), reads(Tensor<float>::full({2}, 1, on)));
    }
    backend.device(0).compute_stream().synchronize();
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(seen, 12);
  });
}

TEST(ForeignTensors, ReleaseTheirOwnersAtOnceWithoutWork) {
  belfry::testing::asserts("SEM-182");
  Backend backend{{.devices = 1, .seed = 7}};
  const auto owner = std::make_shared<std::vector<float>>(2, 3.0F);
  {
    const auto y = Tensor<float>::over({2}, std::span(*owner), Placement{&backend, 0}, owner);
    EXPECT_THAT(y.to_host(), ElementsAre(3, 3));
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

// Work that no host has waited for ends with the backend.
TEST(ForeignTensors, ReleaseTheirOwnersWithTheBackend) {
  belfry::testing::asserts("SEM-182");
  const auto owner = std::make_shared<std::vector<float>>(2, 3.0F);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Backend backend{{.devices = 1, .seed = seed}};
    auto y = Tensor<float>::over({2}, std::span(*owner), Placement{&backend, 0}, owner);
    add_to(y, y);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

// A tensor of the backend has parts of the backend.
TEST(ForeignTensors, ReleaseOwnersThatHaveATensorOfTheBackend) {
  belfry::testing::asserts("SEM-182");
  struct Owner {
    std::vector<float> memory{1, 2};
    std::optional<Tensor<float>> other;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const bool waits : {false, true}) {
      std::weak_ptr<const Owner> alive;
      {
        Backend backend{{.devices = 2, .seed = seed}};
        const Placement on{&backend, 0};
        const auto owner = std::make_shared<Owner>();
        alive = owner;
        owner->other = Tensor<float>::over({2}, std::span(owner->memory), on);
        auto y = Tensor<float>::over({2}, std::span(owner->memory), on, owner);
        add_to(y, Tensor<float>::full({2}, 1, on));
        y = Tensor<float>();
        if (waits) backend.device(1).compute_stream().synchronize();
      }
      EXPECT_TRUE(alive.expired()) << seed << waits;
    }
  }
}

// Ends the last handle.
struct EndsLast {
  Tensor<float>* last;
  void on_host(std::span<float> y) const {
    *last = Tensor<float>();
    y[0] = 5;
  }
};

// A body calls nothing of belfry, and an owner's end may.
TEST(ForeignTensors, ReleaseTheirOwnersOutsideOfBodies) {
  belfry::testing::asserts("SEM-182");
  under_schedules([](Backend& backend) {
    const Placement on{&backend, 0};
    std::vector<float> mine{1, 2};
    float seen = 0;
    std::shared_ptr<const void> owner(static_cast<const void*>(mine.data()), [&](const void*) {
      seen = Tensor<float>::full({1}, 3, on).item();
    });
    auto last = Tensor<float>::over({2}, std::span(mine), on, std::move(owner));
    auto y = Tensor<float>::full({1}, 0, on);
    launch(EndsLast{&last}, updates(y));
    EXPECT_EQ(y.item(), 5);
    backend.device(0).compute_stream().synchronize();
    EXPECT_EQ(seen, 3);
  });
}

// Simulated bytes move at writes, and keep their place from the export on.
TEST(ForeignTensors, AreExportedFromEveryDevice) {
  belfry::testing::asserts("SEM-184");
  under_schedules([](Backend& backend) {
    auto x = Tensor<float>::full({2}, 3, Placement{&backend, 0});
    const auto copy = x.copy_to({&backend, 1});
    add_to(x, x);
    DlpackPtr out = to_dlpack(std::move(x));
    EXPECT_EQ(out->flags, 0U);
    EXPECT_EQ(out->dl_tensor.device.device_type, dlpack::kCpu);
    auto* const values = static_cast<float*>(out->dl_tensor.data);
    EXPECT_THAT(std::vector(values, values + 2), ElementsAre(6, 6));
    values[0] = 1;
    EXPECT_THAT(copy.to_host(), ElementsAre(3, 3));
    auto back =
        from_dlpack<float>(out.release(), std::nullopt, DlpackCopy::kNever, Placement{&backend, 1});
    add_to(back, copy);
    EXPECT_THAT(back.to_host(), ElementsAre(4, 9));
    EXPECT_EQ(values[1], 9);
    auto sole = copy;
    const DlpackPtr shared = to_dlpack(copy);
    EXPECT_EQ(shared->flags, dlpack::kIsCopied);
    static_cast<float*>(shared->dl_tensor.data)[0] = 8;
    EXPECT_THAT(sole.to_host(), ElementsAre(3, 3));
  });
}

}  // namespace
}  // namespace belfry::sim::foreign_tensors_test
