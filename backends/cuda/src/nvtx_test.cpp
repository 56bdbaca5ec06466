// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Ranges for profilers, seen by an injection that is linked into the test.
#if __has_include(<nvtx3/nvToolsExt.h>)
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#define BELFRY_HAVE_NVTX 1
#else
#define BELFRY_HAVE_NVTX 0
#endif

#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/gradient_buckets.h"
#include "belfry/sim/driver.h"
#include "belfry/tensor_ops.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::cuda::nvtx_test {
namespace {

#if BELFRY_HAVE_NVTX
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The texts of all calls of NVTX.
struct Seen {
  std::mutex mutex;
  std::vector<std::string> begun;
  std::map<nvtxRangeId_t, std::string> open;
  std::vector<std::string> pushed;
  std::size_t popped = 0;
};

Seen& seen() {
  static Seen all;
  return all;
}

nvtxRangeId_t start(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(seen().mutex);
  const std::string& text = seen().begun.emplace_back(event->message.ascii);
  seen().open.emplace(seen().begun.size(), text);
  return seen().begun.size();
}

void end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t range) {
  const std::lock_guard lock(seen().mutex);
  EXPECT_EQ(seen().open.erase(range), 1U);
}

int push(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(seen().mutex);
  seen().pushed.emplace_back(event->message.ascii);
  return 0;
}

int pop(nvtxDomainHandle_t /*domain*/) {
  const std::lock_guard lock(seen().mutex);
  ++seen().popped;
  return 0;
}

template <class Function>
NvtxFunctionPointer untyped(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

int NVTX_API inject(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &size) == 0) return 0;
  *functions[NVTX_CBID_CORE2_DomainRangeStartEx] = untyped(&start);
  *functions[NVTX_CBID_CORE2_DomainRangeEnd] = untyped(&end);
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = untyped(&push);
  *functions[NVTX_CBID_CORE2_DomainRangePop] = untyped(&pop);
  return 1;
}

void run_once_on(Backend& backend, int& line) {
  MirroredStrategy strategy{backend};
  static_cast<void>(strategy.run([&](ReplicaContext& replica) {
    const auto x = Tensor<float>::full({2}, 1.0F);
    line = __LINE__ + 1;
    return replica.all_reduce(ReduceOp::kSum, x);
  }));
}

TEST(NvtxRanges, ShowReplicasMergesAndCollectives) {
  const sim::SimulatedDriver machine({.gpus = 2});
  int line = 0;
  Backend silent{{.carrier = Carrier::kFiber, .warm_up = false}};
  run_once_on(silent, line);
  EXPECT_THAT(seen().begun, IsEmpty());
  EXPECT_THAT(seen().pushed, IsEmpty());
  Backend backend{{.carrier = Carrier::kFiber, .warm_up = false, .nvtx = true}};
  run_once_on(backend, line);
  const std::string place = "nvtx_test.cpp:" + std::to_string(line);
  EXPECT_THAT(seen().begun,
              ElementsAre("replica 0", "replica 0 at a merge, " + place, "replica 1",
                          "replica 1 at a merge, " + place, "merge: all_reduce, " + place));
  EXPECT_THAT(seen().open, IsEmpty()) << "every range has ended";
  EXPECT_THAT(seen().pushed, ElementsAre("all_reduce of 16 bytes in 2 parts, in all_reduce"));
  EXPECT_EQ(seen().popped, 1U);
}
// Gradients of 8 and 4 bytes in buckets of 8 bytes.
TEST(NvtxRanges, NameTheBucketOfACollective) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend{{.carrier = Carrier::kFiber, .warm_up = false, .nvtx = true}};
  MirroredStrategy strategy{backend};
  GradientBuckets buckets(strategy, {"head", "stem"}, {.bytes = 8});
  seen().pushed.clear();
  strategy.run([&](ReplicaContext& replica) {
    buckets.add(replica, "stem", Tensor<float>::full({2}, 1.0F));
    buckets.add(replica, "head", Tensor<float>::full({1}, 1.0F));
    buckets.finish(replica, [](CrossReplicaContext&, const TensorValues&) {});
  });
  EXPECT_THAT(seen().pushed,
              ElementsAre("all_reduce of 16 bytes in 2 parts, in merge_call \"gradient bucket 0\"",
                          "all_reduce of 8 bytes in 2 parts, in merge_call \"gradient bucket 1\""));
}

// No replica resumes from the merge.
TEST(NvtxRanges, EndWithARunWhoseMergeThrew) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend{{.carrier = Carrier::kFiber, .warm_up = false, .nvtx = true}};
  MirroredStrategy strategy{backend};
  const auto fail = [](CrossReplicaContext&) { throw std::runtime_error("no"); };
  EXPECT_THROW(strategy.run([&](ReplicaContext& replica) { replica.merge_call(fail); }),
               std::runtime_error);
  EXPECT_THAT(seen().open, IsEmpty());
}
#else
TEST(NvtxRanges, AreRefusedWithoutTheHeader) {
  const sim::SimulatedDriver machine({.gpus = 1});
  EXPECT_EQ(test::code_of([] { const Backend backend{{.nvtx = true}}; }), ErrorCode::kUnsupported);
}
#endif

}  // namespace
}  // namespace belfry::cuda::nvtx_test

#if BELFRY_HAVE_NVTX
extern "C" {
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = &belfry::cuda::nvtx_test::inject;
}
#endif
