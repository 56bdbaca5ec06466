// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Messages of foreign programs in place of belfry's processes.
#include "belfry/backend/host_backend.h"
#include "belfry/belfry.h"
#include "belfry/detail/process_values.h"
#include "belfry/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::detail::byte_stream_test {
namespace {

using ::testing::ElementsAre;

class Messages : public ::testing::Test {
 protected:
  template <class T>
  T received(const ByteWriter& message) {
    ByteReader in(message.bytes());
    T value{};
    receive_value(in, value, on_);
    EXPECT_TRUE(in.rest().empty());
    return value;
  }
  template <class T>
  void is_refused(const ByteWriter& message) {
    EXPECT_THROW(received<T>(message), InternalError);
  }
  // A tensor of these bytes.
  static ByteWriter tensor(std::uint8_t dtype, std::initializer_list<std::int64_t> extents,
                           std::initializer_list<std::uint8_t> elements) {
    ByteWriter out;
    out.put(false);
    out.put(dtype);
    out.put(std::uint64_t{extents.size()});
    for (const std::int64_t extent : extents) out.put(extent);
    out.put(Elements::kSent);
    for (const std::uint8_t element : elements) out.put(element);
    return out;
  }

  HostBackend backend_{1};
  Placement on_{&backend_, 0};
};

// A message with `count` and a single byte.
ByteWriter claim(std::uint64_t count) {
  ByteWriter out;
  out.put(count);
  out.put(std::uint8_t{1});
  return out;
}

TEST_F(Messages, ClaimNoMoreElementsThanTheyHaveBytes) {
  using Pairs = std::vector<std::pair<int, std::optional<bool>>>;
  for (const int bit : {1, 40, 61, 63}) {
    const ByteWriter message = claim(std::uint64_t{1} << bit);
    is_refused<std::string>(message);
    is_refused<std::vector<float>>(message);
    is_refused<std::vector<std::string>>(message);
    is_refused<Pairs>(message);
    is_refused<std::map<int, int>>(message);
    is_refused<std::vector<std::vector<int>>>(message);
    is_refused<std::vector<Tensor<float>>>(message);
  }
  // Elements without contents have no bytes.
  ByteWriter empty;
  empty.put(std::uint64_t{3});
  EXPECT_EQ(received<std::vector<std::tuple<>>>(empty).size(), 3U);
}

TEST_F(Messages, HaveAByteForEachElementOfATensor) {
  EXPECT_THAT(received<Tensor<std::uint8_t>>(tensor(7, {2}, {5, 6})).to_host(), ElementsAre(5, 6));
  // 2^62 elements of 4 bytes are 0 bytes, modulo 2^64.
  is_refused<Tensor<float>>(tensor(0, {std::int64_t{1} << 62}, {}));
  is_refused<Tensor<float>>(tensor(0, {std::int64_t{1} << 61, 2}, {1, 2, 3, 4}));
  is_refused<Tensor<std::uint8_t>>(tensor(7, {3}, {5, 6}));
  is_refused<Tensor<std::uint8_t>>(tensor(kNumDTypes, {2}, {5, 6}));
}

// The odd byte is at each place in turn.
TEST_F(Messages, HaveBoolsOfZeroAndOne) {
  using Bools = std::array<bool, 3>;
  for (std::size_t odd = 0; odd < 3; ++odd) {
    std::array<std::uint8_t, 3> bytes{1, 0, 1};
    ByteWriter good;
    good.add(bytes.data(), bytes.size());
    EXPECT_EQ(received<Bools>(good), (Bools{true, false, true}));
    bytes[odd] = odd == 1 ? 255 : 2;
    ByteWriter bad;
    bad.add(bytes.data(), bytes.size());
    is_refused<Bools>(bad);
    is_refused<Tensor<bool>>(tensor(8, {3}, {bytes[0], bytes[1], bytes[2]}));
  }
  ByteWriter present;
  present.put(std::uint8_t{2});
  is_refused<std::optional<int>>(present);
}

}  // namespace
}  // namespace belfry::detail::byte_stream_test
