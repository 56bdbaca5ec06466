// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pictures {

/// A place in a picture, in pixels from the upper left corner.
struct Point {
  int x = 0;
  int y = 0;
};

/// A rectangle, in pixels.
struct Area {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  Point centre() const { return {x + width / 2, y + height / 2}; }
  Point left() const { return {x, y + height / 2}; }
  Point right() const { return {x + width, y + height / 2}; }
  Point top() const { return {x + width / 2, y}; }
  Point bottom() const { return {x + width / 2, y + height}; }
};

/// A part of a line of text: fixed words, or with a name something that a program returned.
struct Piece {
  Piece(std::string_view fixed) : words(fixed) {}
  Piece(const char* fixed) : words(fixed) {}
  Piece(std::string text, std::string text_name)
      : words(std::move(text)), name(std::move(text_name)) {}

  std::string words;
  std::string name{};  ///< The id of the element, by which the test finds the value.
};

/// A value of a run. Numbers have all digits.
template <class T>
Piece value(std::string name, const T& of_run) {
  return {fmt::format("{}", of_run), std::move(name)};
}
template <class T>
Piece value(std::string_view name, int index, const T& of_run) {
  return value(fmt::format("{}-{}", name, index), of_run);
}

/// A line of text. The style is a class of the style sheet: `strong`, `small` or none.
struct Line {
  std::vector<Piece> pieces{};
  std::string_view style{};
};

template <class... P>
Line text(P&&... pieces) {
  return {{Piece(std::forward<P>(pieces))...}, {}};
}
template <class... P>
Line strong(P&&... pieces) {
  return {{Piece(std::forward<P>(pieces))...}, "strong"};
}
template <class... P>
Line small(P&&... pieces) {
  return {{Piece(std::forward<P>(pieces))...}, "small"};
}

/// `replica 2`: names in pictures.
std::string numbered(std::string_view what, int number);

/// What a box is about.
enum class Colour { kPlain, kReplica0, kReplica1, kReplica2, kReplica3, kTogether, kWrong };
Colour colour_of(int replica);

/// A picture of 720 pixels' width, as SVG. The picture has a background of its own, and colours for
/// light and for dark pages.
class Drawing {
 public:
  static constexpr int kWidth = 720;

  /// `title` is shown; `description` is for those who hear the picture, and has the same facts.
  Drawing(int height, std::string_view title, std::string description);

  /// A box with lines of text in its middle.
  void box(const Area& area, Colour colour, const std::vector<Line>& lines = {});
  /// Lines of text around a place.
  void lines(Point centre, const std::vector<Line>& lines);
  /// A line of text that begins at a place.
  void label(Point left, const Line& line);
  void arrow(Point from, Point to) { stroke(from, to, "arrow"); }
  void edge(Point from, Point to) { stroke(from, to, "edge"); }

  std::string svg() const;

 private:
  void stroke(Point from, Point to, std::string_view style);
  void write(Point place, const Line& line, std::string_view anchor);

  int height_;
  std::string title_;
  std::string description_;
  std::string body_;
};

}  // namespace pictures
