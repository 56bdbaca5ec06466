// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/digest.h"

#include <gtest/gtest.h>

#include <vector>

namespace belfry::engine::digest_test {
namespace {

TEST(Digest, SeesEveryByteOfSmallData) {
  for (std::size_t bytes = 0; bytes < 100; ++bytes) {
    std::vector<std::byte> data(bytes, std::byte{3});
    const std::uint64_t whole = digest(1, data.data(), bytes, DigestExtent::kSampled);
    EXPECT_EQ(whole, digest(1, data.data(), bytes, DigestExtent::kAll));
    for (std::byte& byte : data) {
      byte ^= std::byte{0x10};
      EXPECT_NE(whole, digest(1, data.data(), bytes, DigestExtent::kSampled)) << bytes;
      byte ^= std::byte{0x10};
    }
    if (bytes > 0) {
      EXPECT_NE(whole, digest(1, data.data(), bytes - 1, DigestExtent::kAll)) << bytes;
    }
  }
}

TEST(Digest, SeesTheEndsOfLargeDataAndAllWhenAsked) {
  std::vector<std::byte> data(std::size_t{1} << 20, std::byte{3});
  const auto hash = [&](DigestExtent extent) {
    return digest(1, data.data(), data.size(), extent);
  };
  const std::uint64_t sampled = hash(DigestExtent::kSampled);
  const std::uint64_t all = hash(DigestExtent::kAll);
  data.front() = std::byte{4};
  EXPECT_NE(sampled, hash(DigestExtent::kSampled));
  data.front() = std::byte{3};
  data.back() = std::byte{4};
  EXPECT_NE(sampled, hash(DigestExtent::kSampled));
  data.back() = std::byte{3};
  data[777'777] = std::byte{4};
  EXPECT_NE(all, hash(DigestExtent::kAll));
}

// The samples of equal bytes are equal, whatever their number.
TEST(Digest, SeesTheSizeOfLargeData) {
  const std::vector<std::byte> data(std::size_t{1} << 20, std::byte{3});
  EXPECT_NE(digest(1, data.data(), data.size(), DigestExtent::kSampled),
            digest(1, data.data(), data.size() - 4096, DigestExtent::kSampled));
}

TEST(Digest, NoneIsNone) {
  const std::byte byte{1};
  EXPECT_EQ(digest(42, &byte, 1, DigestExtent::kNone), 42u);
}

}  // namespace
}  // namespace belfry::engine::digest_test
