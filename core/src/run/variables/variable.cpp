// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/variable.h"

#include "backend/access_order.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/element_ops.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/make_variable.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"
#include "run/contexts/inside_update.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

namespace detail {
namespace {

[[noreturn]] void throw_homeless(const VariableInfo& info, int replica, CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kDestination;
  report.summary = info.name + " has no component on this replica's device";
  report.site = site;
  report.replicas.push_back({replica, site, "asked for it"});
  report.expected = "a replica among";
  const std::vector<int>& seen = info.places.component;
  for (std::size_t other = 0; other < seen.size(); ++other) {
    if (seen[other] >= 0) report.expected += " " + std::to_string(other);
  }
  report.hint = "it was made at " + to_string(info.created) + " beside a variable of those devices";
  throw InvalidArgumentError(std::move(report));
}

// The first decision stands.
void place_as_asked(const VariableOptions& options, VariableInfo& info, CallSite site) {
  if (options.devices.empty() || info.places.size() != 0) return;
  info.places = places_on(*info.owner, options.devices, site);
}

// Inner scopes win: creators are asked from the innermost out, and see the changes of inner
// creators.
void apply_rules(const VariableRules* rules, VariableOptions& options, VariableInfo& info,
                 CallSite site) {
  place_as_asked(options, info, site);
  for (; rules != nullptr; rules = rules->outer) {
    if (rules->creator) {
      rules->creator(options);
      place_as_asked(options, info, site);
    }
    if (rules->replica_local && options.synchronization == Synchronization::kAuto) {
      options.synchronization = Synchronization::kOnRead;
      if (options.aggregation == Aggregation::kNone) options.aggregation = *rules->replica_local;
    }
    if (rules->places && info.places.size() == 0) info.places = *rules->places;
  }
}

// The handle has the requested kind.
void require_kept(Synchronization asked, const VariableInfo& info, Synchronization kind,
                  CallSite site) {
  const bool known = asked == Synchronization::kOnRead || asked == Synchronization::kOnWrite;
  if (!known || (asked == Synchronization::kOnRead) == (kind == Synchronization::kOnRead)) return;
  throw VariableMismatchError(
      ErrorCode::kVariableMismatch,
      (info.name.empty() ? std::string("a variable") : info.name) + " was asked to synchronize " +
          to_string(asked) + ", and a creator made it " + to_string(kind),
      "a creator may choose the kind where it was left open: see Synchronization::kAuto", site);
}

// A number from a file or a caller may be no enumerator.
void require_known(const std::string& name, const VariableOptions& options, CallSite site) {
  if (options.synchronization > Synchronization::kOnRead) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "variable" + name + " cannot have " + to_string(options.synchronization),
        "use an enumerator of Synchronization: kAuto, kOnWrite or kOnRead", site);
  }
  if (options.aggregation > Aggregation::kOther) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "variable" + name + " cannot have " + to_string(options.aggregation),
                               "use an enumerator of Aggregation", site);
  }
}

void require_possible(const VariableInfo& info, const VariableOptions& options, CallSite site) {
  const std::string name = info.name.empty() ? "" : " \"" + info.name + "\"";
  require_known(name, options, site);
  if (options.synchronization == Synchronization::kNone) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "variable" + name + " cannot have synchronization none",
                               "use on write (mirrored) or on read (replica-local)", site);
  }
  if (options.synchronization == Synchronization::kOnRead &&
      options.aggregation == Aggregation::kNone) {
    throw InvalidArgumentError(
        ErrorCode::kNoAggregation, "replica-local variable" + name + " could never be read",
        "give it an aggregation: sum, mean, max, min, prod or only-first", site);
  }
  if (options.synchronization != Synchronization::kOnRead &&
      options.aggregation == Aggregation::kOther) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "mirrored variable" + name + " cannot have aggregation other",
                               "only replica-local variables are read by a Reduction", site);
  }
}

void require_combinable(BinaryOp op, const std::vector<LeafRef>& leaves, std::string_view variable,
                        CallSite site) {
  const auto leaf = std::ranges::find_if_not(leaves, [op](const LeafRef& one) {
    if (one.own != nullptr) return op == BinaryOp::kAdd;
    return element::supports(op, one.dtype);
  });
  if (leaf == leaves.end()) return;
  std::string text = leaf->own != nullptr ? name_of(*leaf->own) + " values"
                                          : (leaf->tensor == nullptr ? "" : "tensors of ") +
                                                to_string(leaf->dtype) + " values";
  if (!variable.empty()) text += " of " + std::string(variable);
  text += leaf->own != nullptr ? " cannot be subtracted" : " cannot be added or subtracted";
  if (leaves.size() > 1) text += " at leaf " + std::to_string(leaf - leaves.begin());
  throw InvalidArgumentError(
      ErrorCode::kDType, std::move(text),
      "assign the whole value, or make the variable of a type with addition, such as int32", site);
}

void combine_on_host(const KernelParameters& parameters, const LeafRef& to, const LeafRef& delta) {
  if (to.own != nullptr) return to.own->add_to(to.data, delta.data);
  const KernelOperand left{to.data, to.count, to.dtype};
  const KernelOperand right{delta.data, delta.count, delta.dtype};
  run_on_host({KernelKind::kBinary, parameters, {left}, {left, right}});
}

// Whether `replica` is the present context of a replica, or the context of a group made by it.
bool is_of(const CurrentContext& context, const ReplicaContext& replica) {
  const ReplicaContext* const present = context.replica;
  if (present == &replica) return true;
  return present != nullptr && &present->merges() == &replica.merges().whole() &&
         present->replica_id() == replica.replica_id();
}

}  // namespace

void throw_empty_variable(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kVariableEmpty,
                             "a default-constructed variable handle was used",
                             "make it with mirrored_variable, replica_local_variable or "
                             "sharded_variable",
                             site);
}

bool touch_variable(const ReplicaContext& replica, const VariableInfo& info, bool write,
                    CallSite site) {
  MergePoint& merges = replica.merges();
  require_own_value(merges.core(), info, site);
  const CurrentContext* context = current_context();
  if (context == nullptr ? !merges.is_default() : !is_of(*context, replica)) {
    const char* hint = "in a merge use the component that update hands over, or read()";
    if (context == nullptr) {
      hint = "outside of run use read(), or local_values() for each component";
    } else if (context->replica != nullptr) {
      hint = "use the ReplicaContext& that this replica's function was given";
    }
    throw ContextError(ErrorCode::kWrongContext,
                       info.name + " was asked for through a replica context that is not current",
                       hint, site);
  }
  // A caller with a replica-local component may write the component, once for each call.
  if (write && is_inside_update(context)) {
    throw_inside_update(("a write of " + info.name).c_str(), site);
  }
  merges.touch(replica.replica_id(),
               write ? OperationKind::kVariableWrite : OperationKind::kVariableRead, info, site);
  return merges.notes();
}

int replica_id_of(const ReplicaContext& replica) { return replica.replica_id(); }

int component_of(const VariableInfo& info, int replica, CallSite site) {
  const CurrentContext* context = current_context();
  if (context != nullptr) require_owner(*context->strategy, info, site);
  const auto index = static_cast<std::size_t>(replica - info.first_replica);
  check(index < info.places.component.size(), "a replica that a variable does not know");
  const int component = info.places.component[index];
  if (component < 0) throw_homeless(info, replica, site);
  return component;
}

std::vector<DeviceSpec> devices_of(const VariableInfo& info) {
  std::vector<DeviceSpec> specs;
  specs.reserve(info.places.devices.size());
  for (int device : info.places.devices) {
    specs.push_back(info.owner->backend().device_spec(device));
  }
  return specs;
}

void require_kind(const VariableInfo& info, Synchronization kind, CallSite site) {
  if (info.synchronization == kind) return;
  throw VariableMismatchError(
      ErrorCode::kVariableMismatch,
      info.name + " synchronizes " + to_string(info.synchronization) + ", not " + to_string(kind),
      "it was made at " + to_string(info.created), site);
}

void throw_not_reducible(const VariableInfo& info, CallSite site) {
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "the components of " + info.name + " are no nest and cannot be reduced",
                         "give its type a members() function, or read only the first", site);
}

VariableInfo describe_variable(StrategyCore& core, VariableOptions options, CallSite site) {
  VariableInfo info;
  info.owner = &core;
  info.first_replica = core.first_replica();
  const CurrentContext* context = current_context();
  const Synchronization asked = options.synchronization;
  apply_rules(context == nullptr ? nullptr : context->variables, options, info, site);
  info.name = std::move(options.name);
  require_possible(info, options, site);
  require_kept(asked, info, options.synchronization, site);
  info.aggregation = options.aggregation;
  info.synchronization = options.synchronization == Synchronization::kOnRead
                             ? Synchronization::kOnRead
                             : Synchronization::kOnWrite;
  info.trainable = options.trainable && info.synchronization == Synchronization::kOnWrite;
  info.created = site;
  // Replicas write components of their own, on their devices. If the places of the neighbouring
  // variable are shared or seen from a distance, each replica gets its own component.
  const bool shared = info.synchronization == Synchronization::kOnRead &&
                      (!info.places.is_one_each() || is_seen_from_afar(core, info.places));
  if (info.places.size() == 0 || shared) info.places = core.place(info.synchronization);
  return info;
}

void require_readable(const VariableInfo& info) {
  if (info.aggregation != Aggregation::kOther) return;
  throw InvalidArgumentError(
      ErrorCode::kNoAggregation,
      "replica-local variable" + (info.name.empty() ? "" : " \"" + info.name + "\"") +
          " has aggregation other, and no reduction to read it",
      "pass the reduction itself, or aggregate by sum, mean, max, min, prod or only-first",
      info.created);
}

void require_mean(const VariableInfo& info, const std::vector<LeafRef>& leaves,
                  LeafWords describe) {
  if (info.aggregation != Aggregation::kMean) return;
  const auto leaf =
      std::ranges::find_if(leaves, [](const LeafRef& one) { return !is_floating(one.dtype); });
  if (leaf == leaves.end()) return;
  throw InvalidArgumentError(
      ErrorCode::kIntegerMean,
      info.name + " holds " + to_string(leaf->dtype) +
          place_in_value(describe(), static_cast<std::size_t>(leaf - leaves.begin())) +
          ", whose MEAN would lose the remainder",
      std::string("for a count that is equal on all replicas, such as a step, aggregate by "
                  "only-first; for counts to add up, by sum; for a mean, make it of floating-point "
                  "numbers") +
          (info.synchronization == Synchronization::kOnRead
               ? ", or read it by TruncatedMean{}: replica_local_variable(TruncatedMean{}, init)"
               : ""),
      info.created);
}

// In a merge within a process of several, the other processes would not count the variable.
void number_variable(StrategyCore& core, VariableInfo& info) {
  if (core.members().is_alone() != core.all_members().is_alone()) [[unlikely]] {
    core.require_change("making a variable", info.created);
  }
  info.number = core.next_variable();
  if (info.name.empty()) info.name = "variable " + std::to_string(info.number);
}

std::optional<std::string> name_of_tag(const MergeTag* tag) {
  return tag == nullptr ? std::nullopt : std::optional(std::string(tag->name));
}

ReplicaContext* replica_making(StrategyCore& core, CallSite site) {
  CurrentContext* context = current_context();
  if (context != nullptr && context->strategy == &core && context->replica != nullptr) {
    return context->replica;
  }
  core.require_cross("making a variable", site);
  return nullptr;
}

void throw_other_structure(std::string_view variable, const std::vector<LeafDescription>& target,
                           const std::vector<LeafDescription>& value, CallSite site) {
  const std::string name = variable.empty() ? "a variable" : std::string(variable);
  std::string text = "a value of another structure cannot be added to " + name;
  // Different keys may have equal texts, and a caller may have no words.
  if (target != value) {
    const std::size_t leaf = first_difference({target, value});
    const auto words = [leaf](const std::vector<LeafDescription>& own) {
      return leaf_text(own, leaf) + (leaf < own.size() ? place_of_leaf(own, leaf) : "");
    };
    text += ": the value has " + words(value) + ", the variable " + words(target);
  }
  throw StructureMismatchError(ErrorCode::kStructure, std::move(text),
                               "add a value with the variable's keys, counts and shapes", site);
}

void combine_leaves(AssignOp op, std::vector<LeafRef> target, std::vector<LeafRef> delta,
                    CallSite site, std::string_view variable) {
  const SiteScope scope(site);
  if (!same_leaves(target, delta)) throw_other_structure(variable, {}, {}, site);
  KernelParameters parameters;
  parameters.binary = op == AssignOp::kAdd ? BinaryOp::kAdd : BinaryOp::kSubtract;
  require_combinable(parameters.binary, target, variable, site);
  // Memory may be short: all memory for tensors is taken before any change.
  std::vector<std::pair<BufferView, AnyTensor>> prepared;
  for (std::size_t i = 0; i < target.size(); ++i) {
    AnyTensor* const tensor = target[i].tensor;
    if (tensor == nullptr) continue;
    const BufferView view = tensor->writable(true);
    prepared.emplace_back(view, delta[i].tensor->copy_to(tensor->placement()));
  }
  auto next = prepared.begin();
  for (std::size_t i = 0; i < target.size(); ++i) {
    const LeafRef& to = target[i];
    if (to.tensor == nullptr) {
      combine_on_host(parameters, to, delta[i]);
    } else {
      const auto& [view, right] = *next++;
      launch_in_order(device_of(to.tensor->placement()).compute_stream(),
                      {KernelKind::kBinary, parameters, {view}, {view, right.view()}});
    }
  }
}

}  // namespace detail
}  // namespace belfry
