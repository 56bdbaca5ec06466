// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/draws.h"

#include "belfry/error.h"

#include <rapidcheck.h>
#include <rapidcheck/detail/ImplicitParam.h>
#include <rapidcheck/gen/detail/GenerationHandler.h>

namespace belfry::testing {
namespace {

class RefusedDraws final : public rc::gen::detail::GenerationHandler {
 public:
  rc::detail::Any onGenerate(const rc::Gen<rc::detail::Any>&) override {
    sim::detail::note_draw("RapidCheck");
    throw ContextError(ErrorCode::kWrongContext, "the body of an exploration draws from RapidCheck",
                       "draw before the exploration, and capture the value");
  }
};

}  // namespace

void refuse_draws(const std::function<void()>& call) {
  RefusedDraws refused;
  const rc::detail::ImplicitParam<rc::gen::detail::param::CurrentHandler> scope(&refused);
  call();
}

}  // namespace belfry::testing
