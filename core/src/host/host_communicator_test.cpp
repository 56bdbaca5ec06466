// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/communicator.h"
#include "belfry/backend/device.h"
#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/testing/code_of.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::host_communicator_test {
namespace {

using testing::code_of;

// Two ranks with a buffer of four floats each.
class HostCommunicatorErrors : public ::testing::Test {
 protected:
  HostCommunicatorErrors() {
    for (const int rank : {0, 1}) {
      Stream& stream = backend_.device(rank).communication_stream();
      buffers_.push_back(backend_.device(rank).allocate(4 * sizeof(float), stream));
      const BufferView view{buffers_.back(), 0, 4, DType::kFloat32};
      parts_.push_back({view, view, &stream});
    }
  }

  ErrorCode code_of_sum() {
    return code_of([&] { communicator_->all_reduce(ReduceOp::kSum, parts_); });
  }

  HostBackend backend_{2};
  std::unique_ptr<Communicator> communicator_ = backend_.communicator(std::array{0, 1});
  std::vector<BufferPtr> buffers_;
  std::vector<CollectivePart> parts_;
};

TEST_F(HostCommunicatorErrors, WrongNumbersOfPartsAreStructureErrors) {
  parts_.pop_back();
  EXPECT_EQ(code_of_sum(), ErrorCode::kStructure);
}

TEST_F(HostCommunicatorErrors, PartsOfDifferentLengthsAreStructureErrors) {
  parts_[1].input.count = 3;
  EXPECT_EQ(code_of_sum(), ErrorCode::kStructure);
}

TEST_F(HostCommunicatorErrors, AMissingStreamIsABadArgument) {
  parts_[1].stream = nullptr;
  EXPECT_EQ(code_of_sum(), ErrorCode::kInvalidArgument);
}

// A call with two tensors: the ranks have exchanged their streams for the second.
TEST_F(HostCommunicatorErrors, SeveralStreamsOfARankAreABadArgument) {
  std::vector<BufferPtr> more;
  for (const int rank : {0, 1}) {
    Stream& stream = backend_.device(rank).communication_stream();
    more.push_back(backend_.device(rank).allocate(4 * sizeof(float), stream));
    const BufferView view{more.back(), 0, 4, DType::kFloat32};
    parts_.push_back({view, view, &stream});
  }
  EXPECT_NO_THROW(communicator_->all_reduce(ReduceOp::kSum, parts_));
  std::swap(parts_[2].stream, parts_[3].stream);
  EXPECT_EQ(code_of_sum(), ErrorCode::kInvalidArgument);
}

TEST_F(HostCommunicatorErrors, AMissingRootIsABadArgument) {
  EXPECT_THROW(communicator_->broadcast(2, parts_), InvalidArgumentError);
  EXPECT_THROW(communicator_->broadcast(-1, parts_), InvalidArgumentError);
}

TEST_F(HostCommunicatorErrors, OutputsOfWrongLengthsAreStructureErrors) {
  const auto gather = [&] { communicator_->all_gather(parts_); };
  EXPECT_EQ(code_of(gather), ErrorCode::kStructure) << "4 elements for twice 4";
  parts_[1].output.count = 3;
  EXPECT_EQ(code_of([&] { communicator_->broadcast(0, parts_); }), ErrorCode::kStructure);
}

TEST_F(HostCommunicatorErrors, OverlappingOutputsAreInvalidArguments) {
  parts_[1].output = parts_[0].output;
  EXPECT_EQ(code_of([&] { communicator_->broadcast(0, parts_); }), ErrorCode::kInvalidArgument);
}

// The second part is refused before the first is copied.
TEST_F(HostCommunicatorErrors, NothingIsCopiedWhenAPartIsRefused) {
  const std::array<float, 4> before{1, 2, 3, 4};
  const std::array<float, 4> others{5, 6, 7, 8};
  parts_[0].stream->write(parts_[0].output, before.data());
  parts_[1].stream->write(parts_[1].input, others.data());
  parts_[1].output.offset = sizeof(float);
  EXPECT_EQ(code_of([&] { communicator_->broadcast(1, parts_); }), ErrorCode::kOutOfBounds);
  std::array<float, 4> after{};
  parts_[0].stream->read(after.data(), parts_[0].output);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace belfry::host_communicator_test
