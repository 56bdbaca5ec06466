// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "drawing.h"

#include <cstddef>

namespace pictures {
namespace {

constexpr int kLineHeight = 20;

// The colours of a light page, and those of a dark page.
constexpr std::string_view kStyle = R"(<style>
text{font:15px Arial,Helvetica,sans-serif;fill:#1f2328}
.middle{text-anchor:middle} .strong,.title,tspan{font-weight:bold} .title{font-size:18px}
.small{font-size:13px;fill:#59636e} .arrow{marker-end:url(#tip)} #tip path{fill:#59636e}
line{stroke:#59636e;stroke-width:1.5} .page{fill:#fff;stroke:#d0d7de}
.plain{fill:#f6f8fa;stroke:#818b98} .together{fill:#f3e8ff;stroke:#8250df}
.replica0{fill:#ddf4ff;stroke:#0969da} .replica1{fill:#fff1e5;stroke:#bc4c00}
.replica2{fill:#dafbe1;stroke:#1a7f37} .replica3{fill:#ffeff7;stroke:#bf3989}
.wrong{fill:#ffebe9;stroke:#cf222e;stroke-width:2}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc} .small,#tip path{fill:#a6b0ba}
line{stroke:#a6b0ba} .page{fill:#0d1117;stroke:#3d444d}
.plain{fill:#1c2128;stroke:#7d8590} .together{fill:#2b1a4d;stroke:#a371f7}
.replica0{fill:#0c2748;stroke:#58a6ff} .replica1{fill:#3b2007;stroke:#f0883e}
.replica2{fill:#0d2d18;stroke:#3fb950} .replica3{fill:#3c1631;stroke:#f778ba}
.wrong{fill:#451518;stroke:#f85149}
}
</style>
<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"
orient="auto"><path d="M0 0L10 5L0 10z"/></marker></defs>
)";

// The classes of the colours, in the order of the enumeration.
constexpr std::string_view kClasses[] = {"plain",    "replica0", "replica1", "replica2",
                                         "replica3", "together", "wrong"};

}  // namespace

std::string numbered(std::string_view what, int number) {
  return fmt::format("{} {}", what, number);
}

Colour colour_of(int replica) {
  return static_cast<Colour>(static_cast<int>(Colour::kReplica0) + replica % 4);
}

Drawing::Drawing(int height, std::string_view title, std::string description)
    : height_(height), title_(title), description_(std::move(description)) {
  write({24, 36}, {{title}, "title"}, "");
}

void Drawing::box(const Area& area, Colour colour, const std::vector<Line>& lines) {
  body_ += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" class=\"{}\"/>\n", area.x,
      area.y, area.width, area.height, kClasses[static_cast<std::size_t>(colour)]);
  this->lines(area.centre(), lines);
}

void Drawing::lines(Point centre, const std::vector<Line>& lines) {
  // A baseline is five pixels below the middle of its line.
  int y = centre.y + 5 - kLineHeight * (static_cast<int>(lines.size()) - 1) / 2;
  for (const Line& line : lines) {
    write({centre.x, y}, line, "middle");
    y += kLineHeight;
  }
}

void Drawing::label(Point left, const Line& line) { write({left.x, left.y + 5}, line, ""); }

void Drawing::stroke(Point from, Point to, std::string_view style) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", from.x,
                       from.y, to.x, to.y, style);
}

void Drawing::write(Point place, const Line& line, std::string_view anchor) {
  const std::string_view blank = anchor.empty() || line.style.empty() ? "" : " ";
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}{}{}\">", place.x, place.y, anchor, blank,
                       line.style);
  for (const Piece& piece : line.pieces) {
    body_ += piece.name.empty()
                 ? piece.words
                 : fmt::format("<tspan id=\"{}\">{}</tspan>", piece.name, piece.words);
  }
  body_ += "</text>\n";
}

std::string Drawing::svg() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"title description\">\n"
      "<title id=\"title\">{2}</title>\n<desc id=\"description\">{3}</desc>\n{4}"
      "<rect x=\"0.5\" y=\"0.5\" width=\"{5}\" height=\"{6}\" rx=\"8\" "
      "class=\"page\"/>\n{7}</svg>\n",
      kWidth, height_, title_, description_, kStyle, kWidth - 1, height_ - 1, body_);
}

}  // namespace pictures
