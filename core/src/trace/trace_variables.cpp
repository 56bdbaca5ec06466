// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_variables.h"

#include "belfry/detail/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

namespace belfry::detail {

void TraceVariables::made(const std::shared_ptr<const VariableView>& variable,
                          const TraceActor& actor) {
  const ShownVariable about = variable->about();
  Variable& own = variables_[{about.owner, about.number}];
  own = {count_++, variable, {}};
  own.versions.resize(static_cast<std::size_t>(about.components));
  TracedValues first(writer_, values_, "writes");
  variable->show(0, first);
  std::string type;
  if (first.values().size() == 1) {
    const TracedValue& value = first.values().front();
    type = fmt::format(",\"type\":{},\"shape\":[{}]", json_string(value.type),
                       fmt::join(value.extents, ","));
  }
  writer_.line(fmt::format("{{\"variable\":{},\"name\":{},\"kind\":\"{}\"{}}}", own.number,
                           json_string(about.name), about.kind, type));
  write_components("variable_made", own, *variable, actor);
}

void TraceVariables::changed(const VariableView& variable, const TraceActor& actor) {
  const ShownVariable about = variable.about();
  const auto own = variables_.find({about.owner, about.number});
  if (own == variables_.end()) return;
  for (std::uint64_t& version : own->second.versions) ++version;
  write_components("variable_write", own->second, variable, actor);
}

void TraceVariables::write_components(const char* kind, const Variable& own,
                                      const VariableView& view, const TraceActor& actor) {
  const ShownVariable about = view.about();
  const std::span<const int> seen = about.component_seen;
  for (int component = 0; component < about.components; ++component) {
    const auto replica = std::ranges::find(seen, component) - seen.begin();
    if (replica == std::ssize(seen)) continue;
    // The line of the replica comes first.
    writer_.agent(host_, {AgentId::Kind::kReplica, static_cast<std::int32_t>(replica)});
    TraceStep step(kind, writer_.agent(host_, actor.agent));
    if (actor.run != 0) step.number("run", actor.run);
    step.number("variable", own.number).text("name", about.name);
    step.number("version", own.versions[static_cast<std::size_t>(component)]);
    const bool is_seen_by_all = about.components == 1 && seen.size() > 1;
    if (!is_seen_by_all) step.number("replica", static_cast<std::uint64_t>(replica));
    TracedValues values(writer_, values_, "writes");
    view.show(component, values);
    values.add_to(step.line(about.site));
    if (about.kind == "mirrored" && component > 0) step.json("bookkeeping", "true");
    if (const auto number = writer_.step(step)) values.show_later(*number);
  }
}

void TraceVariables::touched(const Operation& operation, const TraceActor& actor, TraceStep step) {
  const auto own = variables_.find({strategy_here(), operation.subject});
  const auto view = own == variables_.end() ? nullptr : own->second.view.lock();
  if (view == nullptr) return;
  const int component = view->about().component_seen[static_cast<std::size_t>(actor.agent.index)];
  if (component < 0) return;  // The access is refused.
  const bool is_write = operation.kind == OperationKind::kVariableWrite;
  std::uint64_t& version = own->second.versions[static_cast<std::size_t>(component)];
  if (is_write) ++version;
  step.number("variable", own->second.number).text("name", operation.name);
  step.number("version", version).line(operation.site);
  TracedValues values(writer_, values_, is_write ? "writes" : "reads");
  view->show(component, values);
  if (is_write) {  // The contents are about to change.
    for (TracedValue& value : values.values()) {
      value = {
          .type = value.type, .extents = value.extents, .count = value.count, .leaf = value.leaf};
    }
  }
  values.add_to(step);
  const auto number = writer_.step(step);
  if (!number) return;
  if (!is_write) return values.show_later(*number);
  lent_[actor].push_back({*number, view, component, std::move(values.values())});
}

void TraceVariables::settle(const TraceActor& actor) {
  const auto lent = lent_.extract(actor);
  if (lent.empty()) return;
  for (const auto& [step, weak, component, before] : lent.mapped()) {
    const auto view = weak.lock();
    if (view == nullptr) continue;
    TracedValues values(writer_, values_, "writes");
    view->show(component, values);
    values.give_to(step, before);
  }
}

}  // namespace belfry::detail
