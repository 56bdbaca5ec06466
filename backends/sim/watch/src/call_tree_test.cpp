// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "call_tree.h"

#include <gtest/gtest.h>

namespace belfry::sim::watch {
namespace {

TEST(CallTree, MakesAPlaceOnce) {
  CallTree tree;
  const Place call = tree.child(CallTree::kRoot, 10);
  const Place first = tree.child(call, 11);
  const Place second = tree.child(call, 12);
  EXPECT_NE(first, second);
  // Found again, in each order: a place that was found is the first of its parent's from then on.
  EXPECT_EQ(tree.child(call, 11), first);
  EXPECT_EQ(tree.child(call, 12), second);
  EXPECT_EQ(tree.child(call, 11), first);
  EXPECT_EQ(tree.child(CallTree::kRoot, 10), call);
}

TEST(CallTree, FindsWhatWasMade) {
  CallTree tree;
  const Place call = tree.child(CallTree::kRoot, 10);
  EXPECT_EQ(tree.find(CallTree::kRoot, 10), call);
  EXPECT_EQ(tree.find(call, 10), CallTree::kRoot);
  EXPECT_EQ(tree.size(), 2U);
}

TEST(CallTree, TellsPlacesApartByCallAndMaker) {
  CallTree tree;
  const Place a = tree.child(CallTree::kRoot, 1);
  const Place b = tree.child(CallTree::kRoot, 2);
  EXPECT_NE(tree.child(a, 5), tree.child(b, 5));
  EXPECT_NE(tree.child(a, 5), tree.child(a, 5, Maker::kAtomic));
  EXPECT_EQ(tree.at(tree.child(b, 5)).parent, b);
  EXPECT_EQ(tree.at(tree.child(b, 5, Maker::kAtomic)).maker, Maker::kAtomic);
}

}  // namespace
}  // namespace belfry::sim::watch
