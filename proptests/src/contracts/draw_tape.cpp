// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A value of RapidCheck cannot be copied, but the source of a value can, and gives the value as
// often as wanted. The property therefore draws sources. The shrinks of a source are the sources of
// simpler values.
#include "contracts/draw_tape.h"

#include <ostream>
#include <utility>

namespace belfry::testing {
namespace {

using rc::detail::Any;
using Source = rc::Shrinkable<Any>;
using CurrentHandler = rc::detail::ImplicitParam<rc::gen::detail::param::CurrentHandler>;

struct TapedDraw {
  Source source;
};
void showValue(const TapedDraw& drawn, std::ostream& out) { drawn.source.value().showValue(out); }

struct SourceOfDraw {
  explicit SourceOfDraw(Source from) : source(std::move(from)) {}

  Any value() const { return Any::of(TapedDraw{source}); }
  rc::Seq<Source> shrinks() const {
    return rc::seq::map(source.shrinks(),
                        [](Source&& simpler) { return rc::makeShrinkable<SourceOfDraw>(simpler); });
  }

  Source source;
};

}  // namespace

DrawTape::DrawTape() : property_(*CurrentHandler::value()), current_(this) {}

Any DrawTape::onGenerate(const rc::Gen<Any>& gen) {
  if (next_ == drawn_.size()) {
    const rc::Gen<Any> sources([gen](const rc::Random& random, int size) {
      return rc::makeShrinkable<SourceOfDraw>(gen(random, size));
    });
    const Any drawn = property_.onGenerate(sources.as(gen.name()));
    drawn_.push_back(drawn.get<TapedDraw>().source);
  }
  return drawn_[next_++].value();
}

}  // namespace belfry::testing
