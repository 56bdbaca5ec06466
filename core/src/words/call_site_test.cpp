// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/call_site.h"

#include <gtest/gtest.h>

namespace belfry::call_site_test {
namespace {

CallSite place(CallSite site = CallSite::here()) { return site; }
CallSite forwarded(CallSite site = CallSite::here()) { return place(site); }

TEST(CallSite, HereIsTheLineOfTheCaller) {
  const int line = __LINE__ + 1;
  const CallSite site = place();
  EXPECT_EQ(site.line, line);
  EXPECT_EQ(to_string(site), "call_site_test.cpp:" + std::to_string(line));
}

TEST(CallSite, AWrapperCanForwardItsOwn) {
  const int line = __LINE__ + 1;
  const CallSite site = forwarded();
  EXPECT_EQ(site.line, line);
}

TEST(CallSite, PrintsTheLastPathComponent) {
  EXPECT_EQ(to_string(CallSite{"/home/user/src/train.cc", 88}), "train.cc:88");
  EXPECT_EQ(to_string(CallSite{"C:\\src\\train.cc", 7}), "train.cc:7");
  EXPECT_EQ(to_string(CallSite{"train.cc", 1}), "train.cc:1");
  EXPECT_EQ(to_string(CallSite{}), "?");
}

TEST(CallSite, SamePlaceComparesTextNotAddresses) {
  const char one[] = "a/train.cc";
  const char two[] = "a/train.cc";
  EXPECT_TRUE(same_place({one, 3}, {two, 3}));
  EXPECT_FALSE(same_place({one, 3}, {two, 4}));
  EXPECT_FALSE(same_place({one, 3}, {"b/train.cc", 3}));
}

}  // namespace
}  // namespace belfry::call_site_test
