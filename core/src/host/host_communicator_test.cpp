// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/backend.h"
#include "belfry/backend/device.h"
#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/each_place.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::host_communicator_test {
namespace {

using testing::at_each_place;
using testing::code_of;

// Three ranks with a buffer of four floats each.
class HostCommunicatorErrors : public ::testing::Test {
 protected:
  HostCommunicatorErrors() { add_tensor(); }

  void add_tensor() {
    for (const int rank : {0, 1, 2}) {
      Stream& stream = backend_.device(rank).communication_stream();
      buffers_.push_back(backend_.device(rank).allocate(4 * sizeof(float), stream));
      const BufferView view{buffers_.back(), 0, 4, DType::kFloat32};
      parts_.push_back({view, view, &stream});
    }
  }
  // Expects that a sum is refused if `spoil` has changed a part, at each place.
  template <class Spoil>
  void expect_refused(ErrorCode code, const Spoil& spoil) {
    expect_refused(code, spoil, [&](const std::vector<CollectivePart>& parts) {
      communicator_->all_reduce(ReduceOp::kSum, parts);
    });
  }
  template <class Spoil, class Call>
  void expect_refused(ErrorCode code, const Spoil& spoil, const Call& call) {
    at_each_place(3, [&](int odd) {
      std::vector<CollectivePart> parts = parts_;
      spoil(parts, static_cast<std::size_t>(odd));
      EXPECT_EQ(code_of([&] { call(parts); }), code);
    });
  }

  HostBackend backend_{3};
  std::unique_ptr<Communicator> communicator_ = backend_.communicator(std::array{0, 1, 2});
  std::vector<BufferPtr> buffers_;
  std::vector<CollectivePart> parts_;
};

TEST_F(HostCommunicatorErrors, WrongNumbersOfPartsAreStructureErrors) {
  expect_refused(ErrorCode::kStructure, [](auto& parts, std::size_t odd) {
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(odd));
  });
}

TEST_F(HostCommunicatorErrors, PartsOfDifferentLengthsAreStructureErrors) {
  expect_refused(ErrorCode::kStructure,
                 [](auto& parts, std::size_t odd) { parts[odd].input.count = 3; });
}

TEST_F(HostCommunicatorErrors, AMissingStreamIsABadArgument) {
  expect_refused(ErrorCode::kInvalidArgument,
                 [](auto& parts, std::size_t odd) { parts[odd].stream = nullptr; });
}

// A call with two tensors: a rank has the stream of another for the second.
TEST_F(HostCommunicatorErrors, SeveralStreamsOfARankAreABadArgument) {
  add_tensor();
  EXPECT_NO_THROW(communicator_->all_reduce(ReduceOp::kSum, parts_));
  expect_refused(ErrorCode::kInvalidArgument, [](auto& parts, std::size_t odd) {
    parts[3 + odd].stream = parts[3 + (odd + 1) % 3].stream;
  });
}

TEST_F(HostCommunicatorErrors, AMissingRootIsABadArgument) {
  EXPECT_THROW(communicator_->broadcast(3, parts_), InvalidArgumentError);
  EXPECT_THROW(communicator_->broadcast(-1, parts_), InvalidArgumentError);
}

TEST_F(HostCommunicatorErrors, OutputsOfWrongLengthsAreStructureErrors) {
  const auto gather = [&] { communicator_->all_gather(parts_); };
  EXPECT_EQ(code_of(gather), ErrorCode::kStructure) << "4 elements for three times 4";
  expect_refused(
      ErrorCode::kStructure, [](auto& parts, std::size_t odd) { parts[odd].output.count = 3; },
      [&](const auto& parts) { communicator_->broadcast(0, parts); });
}

TEST_F(HostCommunicatorErrors, OverlappingOutputsAreInvalidArguments) {
  expect_refused(
      ErrorCode::kInvalidArgument,
      [](auto& parts, std::size_t odd) { parts[odd].output = parts[(odd + 1) % 3].output; },
      [&](const auto& parts) { communicator_->broadcast(0, parts); });
}

// A part is refused before another part is copied.
TEST_F(HostCommunicatorErrors, NothingIsCopiedWhenAPartIsRefused) {
  const std::array<float, 4> numbers{1, 2, 3, 4};
  at_each_place(3, [&](int odd) {
    std::vector<CollectivePart> parts = parts_;
    const auto place = static_cast<std::size_t>(odd);
    const CollectivePart& other = parts[(place + 1) % 3];
    const CollectivePart& root = parts[(place + 2) % 3];
    const std::array<float, 4> before{};
    other.stream->write(other.output, before.data());
    root.stream->write(root.input, numbers.data());
    parts[place].output.offset = sizeof(float);
    EXPECT_EQ(code_of([&] { communicator_->broadcast((odd + 2) % 3, parts); }),
              ErrorCode::kOutOfBounds);
    std::array<float, 4> after = numbers;
    other.stream->read(after.data(), other.output);
    EXPECT_EQ(after, before);
  });
}

}  // namespace
}  // namespace belfry::host_communicator_test
