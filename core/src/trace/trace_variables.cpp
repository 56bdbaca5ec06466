// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_variables.h"

#include "belfry/detail/json.h"
#include "trace/traced_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace belfry::detail {
namespace {

constexpr const char* kWrites = "writes";

bool are_known_to_differ(const std::vector<TracedValue>& some,
                         const std::vector<TracedValue>& others) {
  const auto is_like = [](const TracedValue& one, const TracedValue& other) {
    const bool is_known = !one.elements.empty() && !other.elements.empty();
    return one.extents == other.extents && one.text == other.text &&
           (!is_known || one.elements == other.elements);
  };
  return !std::ranges::equal(some, others, is_like);
}

}  // namespace

TraceVariables::Variable& TraceVariables::find(const void* owner, std::uint64_t number,
                                               std::string_view name) {
  const auto [known, is_new] = variables_.try_emplace({owner, number});
  if (is_new) {
    known->second.number = next_number_++;
    writer_.line(
        fmt::format("{{\"variable\":{},\"name\":{}}}", known->second.number, json_string(name)));
  }
  return known->second;
}

void TraceVariables::made(const std::shared_ptr<const VariableView>& variable,
                          const TraceActor& actor) {
  const ShownVariable about = variable->about();
  Variable& own = variables_[{about.owner, about.number}];
  own = {.number = next_number_++, .view = variable};
  TracedValues first(writer_, values_, kWrites);
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
  write_components("variable_write", find(about.owner, about.number, about.name), variable, actor);
}

void TraceVariables::write_components(const char* kind, Variable& own, const VariableView& view,
                                      const TraceActor& actor) {
  const ShownVariable about = view.about();
  const bool is_write = kind == std::string_view("variable_write");
  own.versions.resize(static_cast<std::size_t>(about.components));
  std::optional<std::vector<TracedValue>> first;
  for (int component = 0; component < about.components; ++component) {
    const auto seen = std::ranges::find(about.component_seen, component);
    if (seen == about.component_seen.end()) continue;
    std::uint64_t& version = own.versions[static_cast<std::size_t>(component)];
    if (is_write) ++version;
    const auto replica = static_cast<std::int32_t>(seen - about.component_seen.begin());
    agent({AgentId::Kind::kReplica, replica});
    TraceStep step(kind, agent(actor.agent));
    if (actor.run != 0) step.number("run", actor.run);
    step.number("variable", own.number).text("name", about.name).number("version", version);
    if (about.components > 1 || about.component_seen.size() == 1) {
      step.number("replica", static_cast<std::uint64_t>(replica));
    }
    step.line(about.site);
    TracedValues values(writer_, values_, kWrites);
    view.show(component, values);
    values.add_to(step);
    if (!first) {
      first = values.values();
    } else if (about.kind == "mirrored" && !are_known_to_differ(*first, values.values())) {
      step.json("bookkeeping", "true");
    }
    if (const auto number = writer_.step(step)) values.show_later(*number);
  }
}

void TraceVariables::touched(const Operation& operation, const TraceActor& actor) {
  const bool is_write = operation.kind == OperationKind::kVariableWrite;
  Variable& own = find(strategy_here(), operation.subject, operation.name);
  TraceStep step(to_string(operation.kind), agent(actor.agent));
  if (actor.run != 0) step.number("run", actor.run);
  step.number("variable", own.number).text("name", operation.name);
  const std::shared_ptr<const VariableView> view = own.view.lock();
  const auto replica = static_cast<std::size_t>(actor.agent.index);
  const std::span<const int> seen =
      view == nullptr ? std::span<const int>() : view->about().component_seen;
  if (replica >= seen.size() || seen[replica] < 0) {  // Not known, or refused by the access.
    writer_.step(step.line(operation.site));
    return;
  }
  const int component = seen[replica];
  std::uint64_t& version = own.versions[static_cast<std::size_t>(component)];
  if (is_write) ++version;
  TracedValues values(writer_, values_, is_write ? kWrites : "reads");
  view->show(component, values);
  if (is_write) values.forget_contents();
  values.add_to(step.number("version", version).line(operation.site));
  const auto number = writer_.step(step);
  if (!number) return;
  if (is_write) {
    lent_[actor].push_back({*number, view, component, values.values()});
  } else {
    values.show_later(*number);
  }
}

void TraceVariables::settle(const TraceActor& actor) {
  const auto lent = lent_.find(actor);
  if (lent == lent_.end()) return;
  for (const Lent& one : lent->second) {
    const std::shared_ptr<const VariableView> view = one.view.lock();
    if (view == nullptr) continue;
    TracedValues values(writer_, values_, kWrites);
    view->show(one.component, values);
    values.give_to(one.step, one.values);
  }
  lent_.erase(lent);
}

}  // namespace belfry::detail
