// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The copies and the allocations of tensors over memory of the program, and of exchanges by DLPack,
// as an observer counts them.
#include "belfry/belfry.h"
#include "belfry/dlpack.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/observer.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::foreign_copies_test {
namespace {

constexpr std::int64_t kLength = 10000;
constexpr std::size_t kBytes = kLength * sizeof(float);

struct AddOne {
  void on_host(std::span<float> y) const {
    for (float& element : y) element += 1;
  }
};

/// The names of submitted work, and the bytes of allocations.
struct Costs {
  std::vector<std::string> work;
  std::size_t allocated_bytes = 0;

  bool operator==(const Costs&) const = default;
};
void PrintTo(const Costs& costs, std::ostream* out) {
  for (const std::string& name : costs.work) *out << name << ", ";
  *out << costs.allocated_bytes << " bytes allocated";
}

class Counter final : public Observer {
 public:
  void observe(const Observation& seen) override {
    if (seen.kind == Observation::Kind::kSubmitted) work.emplace_back(seen.name);
  }

  std::vector<std::string> work;
};

class ForeignCopies : public ::testing::Test {
 protected:
  Tensor<float> over() { return Tensor<float>::over({kLength}, std::span(mine_), on_); }
  Tensor<float> on_device() { return Tensor<float>::full({kLength}, 3, on_); }

  // A structure of DLPack over the memory of the test.
  dlpack::ManagedTensor* managed() {
    managed_.dl_tensor = {.data = mine_.data(),
                          .device = {dlpack::kCpu, 0},
                          .ndim = 1,
                          .dtype = {dlpack::kFloat, 32, 1},
                          .shape = shape_};
    return &managed_;
  }
  Tensor<float> imported(DlpackCopy copy) {
    return from_dlpack<float>(managed(), std::nullopt, copy, on_);
  }

  // The costs of `call`, with all work that the call submits. The device has had no more memory
  // than `own_bytes` before, all of which is live.
  Costs costs_of(const std::function<void()>& call, std::size_t own_bytes = 0) {
    counter_.work.clear();
    call();
    Costs costs{counter_.work};
    for (const DeviceMemoryReport& report : backend_.memory_report()) {
      backend_.device(report.device).compute_stream().synchronize();
      costs.allocated_bytes += report.use.peak_bytes;
    }
    costs.allocated_bytes -= own_bytes;
    return costs;
  }

  std::vector<float> mine_ = std::vector<float>(kLength, 1.0F);
  std::int64_t shape_[1] = {kLength};
  dlpack::ManagedTensor managed_;
  Counter counter_;
  Backend backend_{{.devices = 2, .seed = 7}, Attachments{.observer = &counter_}};
  Placement on_{&backend_, 0};
};

TEST_F(ForeignCopies, OfWrappedMemoryAreNone) {
  belfry::testing::asserts("SEM-180", "SEM-183");
  EXPECT_EQ(costs_of([&] { over(); }), Costs());
  EXPECT_EQ(costs_of([&] { imported(DlpackCopy::kNever); }), Costs());
  EXPECT_EQ(costs_of([&] { imported(DlpackCopy::kIfNeeded); }), Costs());
  Costs one_kernel;
  one_kernel.work = {"AddOne"};
  EXPECT_EQ(costs_of([&] {
              auto y = over();
              launch(AddOne(), updates(y));
            }),
            one_kernel);
  EXPECT_EQ(mine_, std::vector<float>(kLength, 2.0F));
}

TEST_F(ForeignCopies, OfExportedSoleHandlesAreNone) {
  belfry::testing::asserts("SEM-184");
  EXPECT_EQ(costs_of([&] {
              const DlpackPtr out = to_dlpack(over());
              EXPECT_EQ(out->dl_tensor.data, mine_.data());
              EXPECT_EQ(out->flags, 0U);
            }),
            Costs());
  auto own = on_device();
  EXPECT_EQ(costs_of(
                [&] {
                  DlpackPtr out = to_dlpack(std::move(own));
                  void* const memory = out->dl_tensor.data;
                  auto back =
                      from_dlpack<float>(out.release(), std::nullopt, DlpackCopy::kNever, on_);
                  const UnversionedDlpackPtr again = to_unversioned_dlpack(std::move(back));
                  EXPECT_EQ(again->dl_tensor.data, memory);
                  EXPECT_EQ(static_cast<float*>(memory)[kLength - 1], 3);
                },
                kBytes),
            Costs());
}

// The twins that copy are controls: the same counters see a copy and an allocation.
class TwinsOfForeignCopies : public ForeignCopies {
 protected:
  static Costs copy_by(const std::string& name) { return {{name}, kBytes}; }
};

TEST_F(TwinsOfForeignCopies, FromAVector) {
  EXPECT_EQ(costs_of([&] { Tensor<float>::from({kLength}, std::span<const float>(mine_), on_); }),
            copy_by("write"));
}

TEST_F(TwinsOfForeignCopies, ByAnExportOfASharedHandle) {
  belfry::testing::asserts("SEM-184");
  const auto first = on_device();
  EXPECT_EQ(costs_of([&] { EXPECT_EQ(to_dlpack(first)->flags, dlpack::kIsCopied); }, kBytes),
            copy_by("copy"));
}

}  // namespace
}  // namespace belfry::sim::foreign_copies_test
