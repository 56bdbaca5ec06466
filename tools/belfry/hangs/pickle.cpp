// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/pickle.h"

#include "belfry/detail/json.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belfry::tool::hangs {
namespace {

using detail::JsonValue;
using Kind = JsonValue::Kind;

constexpr int kDeepest = 32;
constexpr std::size_t kMostText = 256u << 20;

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  JsonValue run() {
    while (!ended_) step(static_cast<unsigned char>(take(1).front()));
    return pop(0).value;
  }

 private:
  struct Item {
    JsonValue value{};
    int depth = 0;
  };

  [[noreturn]] void fail(const char* what) const { throw detail::JsonError(at_, what); }

  std::string_view take(std::size_t count) {
    if (bytes_.size() - at_ < count) fail("the pickle ends early");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  // Little-endian.
  std::uint64_t number(std::size_t count) {
    std::uint64_t number = 0;
    std::size_t shift = 0;
    for (const char c : take(count)) {
      number |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return number;
  }

  void push(Kind kind, std::string text = {}) {
    text_ += text.size();
    if (text_ > kMostText) fail("the strings of the pickle are too long");
    stack_.push_back({{.kind = kind, .text = std::move(text)}, 1});
  }
  void push_signed(std::uint64_t bits, std::size_t count) {
    const std::size_t unused = 64 - 8 * count;
    const auto value = count == 0 ? 0 : std::bit_cast<std::int64_t>(bits << unused) >> unused;
    push(Kind::kNumber, std::to_string(value));
  }
  std::size_t mark() {
    if (marks_.empty()) fail("a mark is missing");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  // The values above the last mark belong to the mark.
  Item& top(Kind kind) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor || stack_.back().value.kind != kind) fail("another value was due");
    return stack_.back();
  }
  Item pop(std::size_t floor) {
    if (stack_.size() <= floor) fail("a value is missing");
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }

  void add(Item& whole, JsonValue part, int depth) {
    whole.depth = std::max(whole.depth, depth + 1);
    if (whole.depth > kDeepest) fail("more than 32 values inside each other");
    whole.value.parts.push_back(std::move(part));
  }
  void make_tuple(std::size_t begin) {
    if (begin > stack_.size()) fail("a value is missing");
    Item tuple{{.kind = Kind::kArray}, 1};
    for (std::size_t i = begin; i < stack_.size(); ++i) {
      add(tuple, std::move(stack_[i].value), stack_[i].depth);
    }
    stack_.resize(begin);
    stack_.push_back(std::move(tuple));
  }
  std::size_t below(std::size_t count) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + count) fail("a value is missing");
    return stack_.size() - count;
  }
  void fill(Kind kind, std::size_t begin) {
    std::vector<Item> items(
        std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(begin)),
        std::make_move_iterator(stack_.end()));
    stack_.resize(begin);
    Item& whole = top(kind);
    if (kind == Kind::kObject && items.size() % 2 != 0) fail("a value is missing");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (kind == Kind::kObject) {
        if (!items[i].value.parts.empty()) fail("a string was due as a name");
        items[i + 1].value.name = std::move(items[i].value.text);
        ++i;
      }
      add(whole, std::move(items[i].value), items[i].depth);
    }
  }

  // A list or an object may grow later: only strings can be got.
  void put(std::uint64_t place) {
    if (stack_.empty()) fail("a value is missing");
    const JsonValue& value = stack_.back().value;
    if (value.kind == Kind::kString) memo_[place] = value.text;
    ++puts_;
  }
  void get(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("an object that is not a string occurs twice");
    push(Kind::kString, found->second);
  }

  void step(unsigned char operation) {
    switch (operation) {
      case 0x80:
        take(1);
        return;  // PROTO
      case 0x95:
        take(8);
        return;  // FRAME
      case '.':
        ended_ = true;
        return;  // STOP
      case '(':
        marks_.push_back(stack_.size());
        return;  // MARK
      case 'N':
        return push(Kind::kNull, "null");  // NONE
      case 0x88:
        return push(Kind::kBool, "true");  // NEWTRUE
      case 0x89:
        return push(Kind::kBool, "false");  // NEWFALSE
      case 'J':
        return push_signed(number(4), 4);  // BININT
      case 'K':
        return push(Kind::kNumber, std::to_string(number(1)));  // BININT1
      case 'M':
        return push(Kind::kNumber, std::to_string(number(2)));  // BININT2
      case 0x8a: {                                              // LONG1
        const std::uint64_t count = number(1);
        if (count > 8) fail("a number of more than 64 bits");
        return push_signed(number(count), count);
      }
      case 'G': {  // BINFLOAT
        std::uint64_t bits = 0;
        for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
        return push(Kind::kNumber, std::to_string(std::bit_cast<double>(bits)));
      }
      case 'X':
        return push(Kind::kString, std::string(take(number(4))));  // BINUNICODE
      case 0x8c:
        return push(Kind::kString, std::string(take(number(1))));  // SHORT_BINUNICODE
      default:
        return step_of_whole(operation);
    }
  }
  void step_of_whole(unsigned char operation) {
    switch (operation) {
      case '}':
        return push(Kind::kObject);  // EMPTY_DICT
      case ']':
        return push(Kind::kArray);  // EMPTY_LIST
      case ')':
        return push(Kind::kArray);  // EMPTY_TUPLE
      case 't':
        return make_tuple(mark());  // TUPLE
      case 0x85:
      case 0x86:
      case 0x87:
        return make_tuple(below(operation - 0x84u));
      case 'a':
        return fill(Kind::kArray, below(1));  // APPEND
      case 'e':
        return fill(Kind::kArray, mark());  // APPENDS
      case 's':
        return fill(Kind::kObject, below(2));  // SETITEM
      case 'u':
        return fill(Kind::kObject, mark());  // SETITEMS
      case 'q':
        return put(number(1));  // BINPUT
      case 'r':
        return put(number(4));  // LONG_BINPUT
      case 0x94:
        return put(puts_);  // MEMOIZE
      case 'h':
        return get(number(1));  // BINGET
      case 'j':
        return get(number(4));  // LONG_BINGET
      default:
        fail("an operation that is not one of plain data");
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;  // Sizes of the stack.
  std::map<std::uint64_t, std::string> memo_;
  std::uint64_t puts_ = 0;
  std::size_t text_ = 0;  // Bytes.
  bool ended_ = false;
};

}  // namespace

detail::JsonValue parse_pickle(std::string_view bytes) { return Machine(bytes).run(); }

}  // namespace belfry::tool::hangs
