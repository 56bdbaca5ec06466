// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/communicator.h"
#include "belfry/backend/device.h"
#include "belfry/backend/host_backend.h"
#include "belfry/error.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace belfry {
namespace {

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

  std::optional<ErrorCode> code_of_sum() {
    try {
      communicator_->all_reduce(ReduceOp::kSum, parts_);
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  }

  HostBackend backend_{2};
  std::unique_ptr<Communicator> communicator_ = backend_.communicator(std::array{0, 1});
  std::vector<BufferPtr> buffers_;
  std::vector<CollectivePart> parts_;
};

TEST_F(HostCommunicatorErrors, AWrongNumberOfPartsIsAnotherStructure) {
  parts_.pop_back();
  EXPECT_EQ(code_of_sum(), ErrorCode::kStructure);
}

TEST_F(HostCommunicatorErrors, PartsOfDifferentLengthsAreAnotherStructure) {
  parts_[1].input.count = 3;
  EXPECT_EQ(code_of_sum(), ErrorCode::kStructure);
}

TEST_F(HostCommunicatorErrors, AMissingStreamIsABadArgument) {
  parts_[1].stream = nullptr;
  EXPECT_EQ(code_of_sum(), ErrorCode::kInvalidArgument);
}

TEST_F(HostCommunicatorErrors, AMissingRootIsABadArgument) {
  EXPECT_THROW(communicator_->reduce(ReduceOp::kSum, 2, parts_), InvalidArgumentError);
  EXPECT_THROW(communicator_->broadcast(-1, parts_), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry
