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

// Three ranks with a buffer of four floats each. The suites of the SPI try every refusal on the
// other backends: the function that refuses is the same.
class HostCommunicatorErrors : public ::testing::Test {
 protected:
  HostCommunicatorErrors() {
    for (const int rank : {0, 1, 2}) {
      Stream& stream = backend_.device(rank).communication_stream();
      const BufferPtr buffer = backend_.device(rank).allocate(4 * sizeof(float), stream);
      const BufferView view{buffer, 0, 4, DType::kFloat32};
      parts_.push_back({view, view, &stream});
    }
  }

  HostBackend backend_{3};
  std::unique_ptr<Communicator> communicator_ = backend_.communicator(std::array{0, 1, 2});
  std::vector<CollectivePart> parts_;
};

TEST_F(HostCommunicatorErrors, AreThoseOfEveryCollective) {
  EXPECT_EQ(
      code_of([&] { communicator_->run({.kind = CollectiveKind::kAllGather, .parts = parts_}); }),
      ErrorCode::kStructure)
      << "4 elements for three times 4";
  EXPECT_EQ(code_of([&] {
              communicator_->run({.kind = CollectiveKind::kBroadcast, .parts = parts_, .root = 3});
            }),
            ErrorCode::kInvalidArgument);
  at_each_place(3, [&](int odd) {
    std::vector<CollectivePart> parts = parts_;
    parts[static_cast<std::size_t>(odd)].stream = nullptr;
    EXPECT_EQ(
        code_of([&] { communicator_->run({.kind = CollectiveKind::kAllReduce, .parts = parts}); }),
        ErrorCode::kInvalidArgument);
  });
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
    EXPECT_EQ(code_of([&] {
                communicator_->run(
                    {.kind = CollectiveKind::kBroadcast, .parts = parts, .root = (odd + 2) % 3});
              }),
              ErrorCode::kOutOfBounds);
    std::array<float, 4> after = numbers;
    other.stream->read(after.data(), other.output);
    EXPECT_EQ(after, before);
  });
}

}  // namespace
}  // namespace belfry::host_communicator_test
