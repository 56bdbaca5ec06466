// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// DLPack on devices of the host. The tests declare the structures of DLPack a second time, in the
// way of C libraries.
#include "belfry/dlpack.h"

#include "belfry/backend/host_backend.h"
#include "belfry/belfry.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "collectives/testing/counting_links.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::dlpack_test {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// From the layout of version 1.0.
struct CTensor {
  void* data;
  struct {
    int device_type;
    std::int32_t device_id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct CManaged {
  CTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(CManaged*);
};
struct CVersioned {
  struct {
    std::uint32_t major;
    std::uint32_t minor;
  } version;
  void* manager_ctx;
  void (*deleter)(CVersioned*);
  std::uint64_t flags;
  CTensor dl_tensor;
};

static_assert(sizeof(dlpack::Tensor) == sizeof(CTensor) &&
              offsetof(dlpack::Tensor, device) == offsetof(CTensor, device) &&
              offsetof(dlpack::Tensor, ndim) == offsetof(CTensor, ndim) &&
              offsetof(dlpack::Tensor, dtype) == offsetof(CTensor, dtype) &&
              offsetof(dlpack::Tensor, shape) == offsetof(CTensor, shape) &&
              offsetof(dlpack::Tensor, strides) == offsetof(CTensor, strides) &&
              offsetof(dlpack::Tensor, byte_offset) == offsetof(CTensor, byte_offset));
static_assert(sizeof(dlpack::ManagedTensor) == sizeof(CManaged) &&
              offsetof(dlpack::ManagedTensor, deleter) == offsetof(CManaged, deleter));
static_assert(sizeof(dlpack::ManagedTensorVersioned) == sizeof(CVersioned) &&
              offsetof(dlpack::ManagedTensorVersioned, manager_ctx) ==
                  offsetof(CVersioned, manager_ctx) &&
              offsetof(dlpack::ManagedTensorVersioned, flags) == offsetof(CVersioned, flags) &&
              offsetof(dlpack::ManagedTensorVersioned, dl_tensor) ==
                  offsetof(CVersioned, dl_tensor));

// A producer of floats, with the number of ends of the tensor.
template <class M>
struct Producer {
  Producer(std::vector<float> elements, std::vector<std::int64_t> extents,
           std::vector<std::int64_t> steps = {})
      : values(std::move(elements)), shape(std::move(extents)), strides(std::move(steps)) {
    CTensor& tensor = managed.dl_tensor;
    tensor.data = values.data();
    tensor.device = {1, 0};
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = {2, 32, 1};
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](M* own) { static_cast<Producer*>(own->manager_ctx)->ended += 1; };
    if constexpr (requires { managed.version; }) managed.version = {1, 1};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  std::vector<float> values;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  M managed{};
  int ended = 0;
};

class Dlpack : public ::testing::Test {
 protected:
  template <class M>
  AnyTensor import(M* managed, DlpackCopy copy = DlpackCopy::kNever,
                   std::optional<std::int64_t> stream = std::nullopt) {
    return from_dlpack(managed, stream, copy, on_);
  }
  static std::vector<float> elements(const AnyTensor& tensor) {
    return Tensor<float>(tensor).to_host();
  }

  HostBackend backend_{1};
  Placement on_{&backend_, 0};
};

TEST_F(Dlpack, ImportsTheMemoryOfTheProducer) {
  testing::asserts("SEM-183");
  Producer<CManaged> producer({1, 2, 3, 4, 5, 6}, {2, 3});
  {
    Tensor<float> x = from_dlpack<float>(&producer.managed, std::nullopt, DlpackCopy::kNever, on_);
    EXPECT_EQ(x.shape(), (Shape{2, 3}));
    scale(x, 2);
    const Tensor<float> second = x;
    x = Tensor<float>();
    EXPECT_EQ(producer.ended, 0);
  }
  EXPECT_THAT(producer.values, ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_EQ(producer.ended, 1);
}

TEST_F(Dlpack, ImportsFromAnOffsetOnTheCurrentDevice) {
  testing::asserts("SEM-183");
  Producer<CVersioned> producer({1, 2, 3}, {2}, {1});
  producer.managed.dl_tensor.byte_offset = 4;
  MirroredStrategy strategy(backend_);
  const auto scope = strategy.scope();
  const AnyTensor x = from_dlpack(&producer.managed);
  EXPECT_THAT(elements(x), ElementsAre(2, 3));
}

TEST_F(Dlpack, KeepsReadOnlyElements) {
  testing::asserts("SEM-183");
  Producer<CVersioned> producer({1, 2}, {2});
  producer.managed.flags = 1;
  Tensor<float> x(import(&producer.managed));
  EXPECT_EQ(code_of([&] { scale(x, 2); }), ErrorCode::kInvalidArgument);
  EXPECT_THAT(producer.values, ElementsAre(1, 2));
  EXPECT_EQ(code_of([&] { to_unversioned_dlpack(std::move(x)); }), ErrorCode::kUnsupported);
  producer.ended = 0;
  Tensor<float> again(import(&producer.managed));
  const DlpackPtr out = to_dlpack(std::move(again));
  EXPECT_EQ(out->flags, dlpack::kReadOnly);
  EXPECT_EQ(out->dl_tensor.data, producer.values.data());
}

// The columns of a matrix, from the last to the first: 6 3, 5 2, 4 1 of 1 2 3, 4 5 6, turned.
TEST_F(Dlpack, CopiesOtherLayoutsIfAsked) {
  testing::asserts("SEM-183");
  Producer<CManaged> producer({1, 2, 3, 4, 5, 6}, {3, 2}, {-1, -3});
  producer.managed.dl_tensor.byte_offset = 5 * sizeof(float);
  const ErrorReport report = report_of([&] { import(&producer.managed); });
  EXPECT_EQ(report.code, ErrorCode::kUnsupported);
  EXPECT_THAT(report.summary, HasSubstr("[3,2] with strides [-1,-3]"));
  EXPECT_EQ(producer.ended, 0) << "a failed import leaves the tensor to the caller";
  const AnyTensor x = import(&producer.managed, DlpackCopy::kIfNeeded);
  EXPECT_EQ(producer.ended, 1);
  producer.values.assign(6, 0);
  EXPECT_THAT(elements(x), ElementsAre(6, 3, 5, 2, 4, 1));
}

TEST_F(Dlpack, CopiesOnlyIfNeededOrAlways) {
  testing::asserts("SEM-183");
  Producer<CManaged> producer({1, 2}, {2});
  const AnyTensor same = import(&producer.managed, DlpackCopy::kIfNeeded);
  const AnyTensor copy = import(&producer.managed, DlpackCopy::kAlways);
  EXPECT_EQ(producer.ended, 1);
  producer.values = {5, 6};
  EXPECT_THAT(elements(copy), ElementsAre(1, 2));
}

// Strides of axes with a single element, and of tensors without elements, have no meaning.
TEST_F(Dlpack, ReadsStridesThatNoElementNeeds) {
  testing::asserts("SEM-183");
  Producer<CManaged> producer({1, 2}, {1, 2, 1}, {77, 1, -5});
  EXPECT_THAT(elements(import(&producer.managed)), ElementsAre(1, 2));
  Producer<CManaged> empty({}, {0, 3}, {9, 9});
  EXPECT_EQ(import(&empty.managed).shape(), (Shape{0, 3}));
  Producer<CManaged> scalar({4}, {});
  EXPECT_THAT(elements(import(&scalar.managed)), ElementsAre(4));
}

TEST_F(Dlpack, RefusesWhatItCannotRead) {
  testing::asserts("SEM-183");
  using Change = std::function<void(CVersioned&)>;
  const std::vector<std::pair<Change, ErrorCode>> changes = {
      {[](CVersioned& own) { own.version.major = 2; }, ErrorCode::kUnsupported},
      {[](CVersioned& own) { own.dl_tensor.dtype.lanes = 4; }, ErrorCode::kUnsupported},
      {[](CVersioned& own) { own.dl_tensor.dtype = {5, 64, 1}; }, ErrorCode::kUnsupported},
      {[](CVersioned& own) { own.dl_tensor.dtype = {2, 8, 1}; }, ErrorCode::kUnsupported},
      {[](CVersioned& own) { own.dl_tensor.device = {2, 0}; }, ErrorCode::kUnsupported},
      {[](CVersioned& own) { own.dl_tensor.device = {10, 0}; }, ErrorCode::kUnsupported},
      {[](CVersioned& own) { own.dl_tensor.byte_offset = 2; }, ErrorCode::kUnsupported},
      {[](CVersioned& own) { own.dl_tensor.ndim = -1; }, ErrorCode::kInvalidArgument},
      {[](CVersioned& own) { own.dl_tensor.shape = nullptr; }, ErrorCode::kInvalidArgument},
      {[](CVersioned& own) { own.dl_tensor.shape[0] = -2; }, ErrorCode::kShape},
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Producer<CVersioned> producer({1, 2}, {2});
    changes[i].first(producer.managed);
    EXPECT_EQ(code_of([&] { import(&producer.managed); }), changes[i].second) << i;
    EXPECT_EQ(producer.ended, 0);
  }
  Producer<CManaged> producer({1, 2}, {2});
  for (const std::int64_t stream : {0, -2}) {
    EXPECT_EQ(code_of([&] { import(&producer.managed, DlpackCopy::kNever, stream); }),
              ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(code_of([&] {
              from_dlpack<double>(&producer.managed, std::nullopt, DlpackCopy::kNever, on_);
            }),
            ErrorCode::kDType);
  EXPECT_EQ(code_of([&] { import(static_cast<CManaged*>(nullptr)); }), ErrorCode::kInvalidArgument);
  testing::CountingLinks other(1);
  EXPECT_EQ(code_of([&] {
              from_dlpack(&producer.managed, std::nullopt, DlpackCopy::kNever, {&other, 0});
            }),
            ErrorCode::kUnsupported);
  EXPECT_EQ(producer.ended, 0);
}

// The layout of the rest is unknown for another major version: here is no rest.
TEST_F(Dlpack, ReadsTheVersionAloneBeforeTheRefusal) {
  testing::asserts("SEM-183");
  struct Version {
    std::uint32_t major;
    std::uint32_t minor;
  };
  const auto alone = std::make_unique<Version>(Version{2, 3});
  auto* const managed = reinterpret_cast<dlpack::ManagedTensorVersioned*>(alone.get());
  EXPECT_THAT(report_of([&] { import(managed); }).summary, HasSubstr("2.3"));
  EXPECT_EQ(code_of([&] { from_dlpack<float>(managed, std::nullopt, DlpackCopy::kAlways, on_); }),
            ErrorCode::kUnsupported);
}

TEST_F(Dlpack, NeedsMemoryForElements) {
  testing::asserts("SEM-183");
  for (const DlpackCopy copy : {DlpackCopy::kNever, DlpackCopy::kIfNeeded, DlpackCopy::kAlways}) {
    for (const std::uint64_t offset : {0, 8}) {
      for (const std::vector<std::int64_t>& steps : {std::vector<std::int64_t>{}, {2}}) {
        Producer<CVersioned> producer({1, 2, 3, 4}, {2}, steps);
        producer.managed.dl_tensor.data = nullptr;
        producer.managed.dl_tensor.byte_offset = offset;
        EXPECT_EQ(code_of([&] { import(&producer.managed, copy); }), ErrorCode::kInvalidArgument);
        EXPECT_EQ(producer.ended, 0);
      }
    }
    Producer<CVersioned> empty({}, {2, 0});
    empty.managed.dl_tensor.data = nullptr;
    EXPECT_EQ(import(&empty.managed, copy).shape(), (Shape{2, 0}));
  }
}

// Axes, elements and strides beyond all memory are not read.
TEST_F(Dlpack, RefusesNumbersBeyondAllMemory) {
  testing::asserts("SEM-183");
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  for (const std::int32_t axes : {129, 1 << 30}) {
    Producer<CVersioned> producer({1, 2}, {2});
    producer.managed.dl_tensor.ndim = axes;
    EXPECT_EQ(code_of([&] { import(&producer.managed); }), ErrorCode::kInvalidArgument);
  }
  Producer<CVersioned> many({1}, std::vector<std::int64_t>(128, 1));
  EXPECT_THAT(elements(import(&many.managed)), ElementsAre(1));
  // 2^63 bytes and more; the second and the third wrap around to few.
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{kFar / 2}, {kFar}, {kFar / 2 + 1, 1, 2}}) {
    Producer<CVersioned> producer({1, 2}, shape);
    EXPECT_EQ(code_of([&] { import(&producer.managed); }), ErrorCode::kShape);
  }
  for (const auto& [shape, steps] :
       {std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>{{2}, {kFar}},
        {{2}, {-kFar}},
        {{2, 2}, {1, -kFar}},
        {{kFar / 2 - 1}, {std::numeric_limits<std::int64_t>::max()}}}) {
    Producer<CVersioned> producer({1, 2}, shape, steps);
    EXPECT_EQ(code_of([&] { import(&producer.managed, DlpackCopy::kIfNeeded); }),
              ErrorCode::kInvalidArgument);
  }
  // A single element, repeated: the memory is there, and room for the copy is not.
  Producer<CVersioned> repeated({1}, {kFar / 2}, {0});
  EXPECT_EQ(code_of([&] { import(&repeated.managed, DlpackCopy::kIfNeeded); }),
            ErrorCode::kOutOfMemory);
}

// The odd byte is at each place in turn, in rows and in columns.
TEST_F(Dlpack, TakesNoBoolThatIsNeitherFalseNorTrue) {
  testing::asserts("SEM-183");
  for (std::size_t odd = 0; odd <= 4; ++odd) {
    for (const std::vector<std::int64_t>& steps : {std::vector<std::int64_t>{}, {1, 2}}) {
      for (const DlpackCopy copy : {DlpackCopy::kNever, DlpackCopy::kIfNeeded}) {
        if (!steps.empty() && copy == DlpackCopy::kNever) continue;
        std::array<std::uint8_t, 4> bytes{1, 0, 0, 1};
        if (odd < 4) bytes[odd] = odd % 2 == 0 ? 2 : 255;
        Producer<CVersioned> producer({}, {2, 2}, steps);
        producer.managed.dl_tensor.data = bytes.data();
        producer.managed.dl_tensor.dtype = {6, 8, 1};
        const auto imported = [&] { import(&producer.managed, copy); };
        if (odd < 4) {
          EXPECT_EQ(code_of(imported), ErrorCode::kInvalidArgument) << odd;
          EXPECT_EQ(producer.ended, 0);
        } else {
          EXPECT_NO_THROW(imported());
        }
      }
    }
  }
}

TEST_F(Dlpack, ExportsTheSoleHandle) {
  testing::asserts("SEM-184");
  auto x = Tensor<float>::from({2, 1, 3}, {1, 2, 3, 4, 5, 6}, on_);
  const void* const address = x.any().view().buffer->address();
  DlpackPtr out = to_dlpack(std::move(x));
  EXPECT_EQ(out->version.major, 1U);
  EXPECT_EQ(out->flags, 0U);
  const dlpack::Tensor& tensor = out->dl_tensor;
  EXPECT_EQ(tensor.data, address);
  EXPECT_EQ(tensor.device.device_type, dlpack::kCpu);
  EXPECT_THAT(std::vector(tensor.shape, tensor.shape + tensor.ndim), ElementsAre(2, 1, 3));
  EXPECT_THAT(std::vector(tensor.strides, tensor.strides + tensor.ndim), ElementsAre(3, 3, 1));
  EXPECT_EQ(tensor.byte_offset, 0U);
  const auto* const values = static_cast<const float*>(tensor.data);
  EXPECT_THAT(std::vector(values, values + 6), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(backend_.device(0).memory().live_buffers, 1U);
  out.reset();
  EXPECT_EQ(backend_.device(0).memory().live_buffers, 0U);
}

TEST_F(Dlpack, ExportsACopyOfASharedTensor) {
  testing::asserts("SEM-184");
  const auto x = Tensor<float>::from({2}, {1, 2}, on_);
  const DlpackPtr out = to_dlpack(x);
  EXPECT_EQ(out->flags, dlpack::kIsCopied);
  static_cast<float*>(out->dl_tensor.data)[0] = 9;
  EXPECT_THAT(x.to_host(), ElementsAre(1, 2));
  EXPECT_EQ(code_of([&] { to_dlpack(x, 0); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([] { to_dlpack(Tensor<float>()); }), ErrorCode::kInvalidArgument);
}

// The codes and bits are the table of DLPack.
TEST_F(Dlpack, KnowsAllElementTypes) {
  testing::asserts("SEM-183");
  testing::asserts("SEM-184");
  const std::map<DType, std::tuple<int, int>> table = {
      {DType::kFloat32, {2, 32}},  {DType::kFloat64, {2, 64}}, {DType::kFloat16, {2, 16}},
      {DType::kBFloat16, {4, 16}}, {DType::kInt8, {0, 8}},     {DType::kInt32, {0, 32}},
      {DType::kInt64, {0, 64}},    {DType::kUInt8, {1, 8}},    {DType::kBool, {6, 8}},
      {DType::kInt16, {0, 16}},    {DType::kUInt16, {1, 16}},  {DType::kUInt32, {1, 32}},
      {DType::kUInt64, {1, 64}}};
  ASSERT_EQ(table.size(), static_cast<std::size_t>(kNumDTypes));
  for (const auto& [dtype, expected] : table) {
    const std::vector<std::byte> bytes(3 * size_of(dtype), std::byte{1});
    UnversionedDlpackPtr out =
        to_unversioned_dlpack(AnyTensor::from_host(dtype, {3}, bytes.data(), on_));
    const dlpack::DataType type = out->dl_tensor.dtype;
    EXPECT_EQ(std::tuple(int{type.code}, int{type.bits}), expected) << to_string(dtype);
    EXPECT_EQ(type.lanes, 1);
    const AnyTensor back = import(out.release());
    EXPECT_EQ(back.dtype(), dtype);
    std::vector<std::byte> seen(bytes.size());
    back.read(seen.data());
    EXPECT_EQ(seen, bytes);
  }
  EXPECT_EQ(backend_.device(0).memory().live_buffers, 0U);
}

}  // namespace
}  // namespace belfry::dlpack_test
