// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <bits/stl_tree.h>

#include <functional>
#include <list>

// Functions of libstdc++ that change the nodes of a user's container outside its headers. The names
// are the linker's.
namespace {

using belfry::sim::watch::reads;
using belfry::sim::watch::writes;

using TreeNode = std::_Rb_tree_node_base;
using ListNode = std::__detail::_List_node_base;

void reads_node(const TreeNode* node, const void* pc) { reads(node, sizeof *node, pc); }
void writes_node(const TreeNode* node, const void* pc) { writes(node, sizeof *node, pc); }
void writes_node(const ListNode* node, const void* pc) { writes(node, sizeof *node, pc); }

template <class Node>
Node* step(Node* node, bool forward, const void* pc) {
  Node* const next = forward ? std::_Rb_tree_increment(node) : std::_Rb_tree_decrement(node);
  reads_node(node, pc);
  reads_node(next, pc);
  return next;
}

}  // namespace

extern "C" {

TreeNode* watched_increment(TreeNode*)
    BELFRY_STANDS_FOR("_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base");
TreeNode* watched_increment(TreeNode* node) { return step(node, true, BELFRY_HERE); }

const TreeNode* watched_const_increment(const TreeNode*)
    BELFRY_STANDS_FOR("_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base");
const TreeNode* watched_const_increment(const TreeNode* node) {
  return step(node, true, BELFRY_HERE);
}

TreeNode* watched_decrement(TreeNode*)
    BELFRY_STANDS_FOR("_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base");
TreeNode* watched_decrement(TreeNode* node) { return step(node, false, BELFRY_HERE); }

const TreeNode* watched_const_decrement(const TreeNode*)
    BELFRY_STANDS_FOR("_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base");
const TreeNode* watched_const_decrement(const TreeNode* node) {
  return step(node, false, BELFRY_HERE);
}

// A walk over the tree that meets the new node before or after meets the parent, too: a new node is
// a neighbour, in order, of its parent. Rotations change links alone, and no order.
void watched_insert(bool, TreeNode*, TreeNode*, TreeNode&)
    BELFRY_STANDS_FOR("_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_");
void watched_insert(bool left, TreeNode* node, TreeNode* parent, TreeNode& header) {
  writes_node(node, BELFRY_HERE);
  writes_node(parent, BELFRY_HERE);
  writes_node(&header, BELFRY_HERE);
  std::_Rb_tree_insert_and_rebalance(left, node, parent, header);
}

TreeNode* watched_erase(TreeNode*, TreeNode&)
    BELFRY_STANDS_FOR("_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_");
TreeNode* watched_erase(TreeNode* node, TreeNode& header) {
  writes_node(node, BELFRY_HERE);
  if (node != header._M_left) writes_node(std::_Rb_tree_decrement(node), BELFRY_HERE);
  writes_node(std::_Rb_tree_increment(node), BELFRY_HERE);
  writes_node(&header, BELFRY_HERE);
  return std::_Rb_tree_rebalance_for_erase(node, header);
}

void watched_hook(ListNode*, ListNode*)
    BELFRY_STANDS_FOR("_ZNSt8__detail15_List_node_base7_M_hookEPS0_");
void watched_hook(ListNode* node, ListNode* position) {
  writes_node(node, BELFRY_HERE);
  writes_node(position, BELFRY_HERE);
  writes_node(position->_M_prev, BELFRY_HERE);
  node->_M_hook(position);
}

void watched_unhook(ListNode*) BELFRY_STANDS_FOR("_ZNSt8__detail15_List_node_base9_M_unhookEv");
void watched_unhook(ListNode* node) {
  writes_node(node, BELFRY_HERE);
  writes_node(node->_M_prev, BELFRY_HERE);
  writes_node(node->_M_next, BELFRY_HERE);
  node->_M_unhook();
}

void watched_transfer(ListNode*, ListNode*, ListNode*)
    BELFRY_STANDS_FOR("_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_");
void watched_transfer(ListNode* position, ListNode* first, ListNode* last) {
  for (ListNode* const end : {position, first, last}) {
    writes_node(end, BELFRY_HERE);
    writes_node(end->_M_prev, BELFRY_HERE);
  }
  position->_M_transfer(first, last);
}

void watched_reverse(ListNode*) BELFRY_STANDS_FOR("_ZNSt8__detail15_List_node_base10_M_reverseEv");
void watched_reverse(ListNode* header) {
  ListNode* node = header;
  do {
    writes_node(node, BELFRY_HERE);
    node = node->_M_next;
  } while (node != header);
  header->_M_reverse();
}

void watched_swap(ListNode&, ListNode&)
    BELFRY_STANDS_FOR("_ZNSt8__detail15_List_node_base4swapERS0_S1_");
void watched_swap(ListNode& one, ListNode& other) {
  for (ListNode* const header : {&one, &other}) {
    writes_node(header, BELFRY_HERE);
    writes_node(header->_M_prev, BELFRY_HERE);
    writes_node(header->_M_next, BELFRY_HERE);
  }
  ListNode::swap(one, other);
}

std::size_t watched_hash(const void*, std::size_t, std::size_t)
    BELFRY_STANDS_FOR("_ZSt11_Hash_bytesPKvmm");
std::size_t watched_hash(const void* at, std::size_t bytes, std::size_t seed) {
  reads(at, bytes, BELFRY_HERE);
  return std::_Hash_bytes(at, bytes, seed);
}

}  // extern "C"
