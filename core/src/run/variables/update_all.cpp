// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"
#include "belfry/fused_update.h"
#include "values/copy_on_write.h"
#include "values/tensor_operands.h"
#include "words/with_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// Fewer tensors than a kernel of a GPU has room for in its parameters.
constexpr std::size_t kMostTensors = 512;

// A variable with slots and a gradient.
struct Member {
  FusedVariable variable;
  std::vector<FusedVariable> slots;
  const FusedValue* gradient;

  template <class F>
  void for_each_changed(const F& fn) const {
    fn(variable);
    for (const FusedVariable& slot : slots) fn(slot);
  }
};

[[noreturn]] void refuse(ErrorCode code, const std::string& summary, std::string hint,
                         CallSite site) {
  throw InvalidArgumentError(code, "update_all: " + summary, std::move(hint), site);
}

std::string name_of(const FusedUpdate& rule) { return to_string(rule); }

// The work of a component: copies of the tensors that have a second handle, and kernels.
class ComponentPlan {
 public:
  ComponentPlan(const FusedUpdate& rule, Placement place, CallSite site)
      : rule_(rule), place_(place), site_(site) {}

  // Adds a weight, the slots, and the gradient, a tensor each. `name` is the variable's.
  void add(const std::string& name, std::vector<AnyTensor*> changed, const AnyTensor& gradient) {
    const AnyTensor& weight = *changed.front();
    for (const AnyTensor* tensor : changed) require_like(name, "slot", weight, *tensor);
    require_like(name, "gradient", weight, gradient);
    require_type(name, weight.dtype());
    if (weight.view().count == 0) return;
    Kernel& kernel = kernel_for(weight.dtype());
    for (AnyTensor* tensor : changed) kernel.outputs.push_back(view_to_change(*tensor));
    kernel.inputs.push_back(gradient.copy_to(place_, site_).view());
  }

  // After the last tensor: every step that can fail without device work.
  void close() {
    for (Kernel& kernel : kernels_) {
      if (rule_.own() != nullptr) kernel.user = rule_.own()->body(kernel.inputs.size());
    }
  }
  // Changes the tensors.
  void enqueue() {
    for (Kernel& kernel : kernels_) launch(place_, std::move(kernel));
    for (auto& [tensor, fresh] : copies_) *tensor = std::move(fresh);
  }

 private:
  void require_like(const std::string& name, const char* what, const AnyTensor& weight,
                    const AnyTensor& other) const {
    if (weight.empty() || other.empty()) {
      refuse(ErrorCode::kInvalidArgument,
             fmt::format("a {} of {} is a default-constructed tensor",
                         weight.empty() ? "tensor" : what, name),
             "make it with Tensor::from, full or zeros", site_);
    }
    if (weight.dtype() == other.dtype() && weight.shape() == other.shape()) return;
    const bool types = weight.dtype() != other.dtype();
    refuse(types ? ErrorCode::kDType : ErrorCode::kShape,
           fmt::format("{} is {}{}, and its {} {}{}", name, to_string(weight.dtype()),
                       to_string(weight.shape()), what, to_string(other.dtype()),
                       to_string(other.shape())),
           "a weight, its slots and its gradient have one element type and one shape; the lists "
           "are in the same order",
           site_);
  }
  void require_type(const std::string& name, DType dtype) const {
    const OwnUpdate* const own = rule_.own();
    if (own == nullptr ? is_floating(dtype) : dtype == own->dtype()) return;
    refuse(ErrorCode::kDType,
           own == nullptr ? fmt::format("{} is {}, and {} is for floating types", name,
                                        to_string(dtype), name_of(rule_))
                          : fmt::format("{} is {}, and kernel {} takes {}", name, to_string(dtype),
                                        own->name(), to_string(own->dtype())),
           own == nullptr ? "write FusedUpdate::kernel with a kernel of your own"
                          : "call update_all for the variables of each element type",
           site_);
  }
  Kernel& kernel_for(DType dtype) {
    const auto open = std::ranges::find_if(kernels_, [dtype](const Kernel& kernel) {
      return kernel.outputs[0].dtype == dtype && kernel.inputs.size() < kMostTensors;
    });
    if (open != kernels_.end()) return *open;
    Kernel& kernel = kernels_.emplace_back();
    kernel.kind = rule_.own() == nullptr ? KernelKind::kFusedUpdate : KernelKind::kUser;
    kernel.parameters = rule_.parameters();
    return kernel;
  }
  BufferView view_to_change(AnyTensor& tensor) {
    touched(&tensor, sizeof tensor, true, site_);
    if (!counts_as_shared(tensor)) return tensor.view();
    note_copy_for_write(tensor);
    copies_.emplace_back(&tensor, own_copy(tensor));
    return copies_.back().second.view();
  }

  const FusedUpdate& rule_;
  Placement place_;
  CallSite site_;
  std::vector<Kernel> kernels_;
  std::vector<std::pair<AnyTensor*, AnyTensor>> copies_;
};

// An update of variables on common devices.
class FusedWork final : public ComponentValues {
 public:
  FusedWork(StrategyCore& core, CrossReplicaContext& cross, std::vector<Member> members,
            const FusedUpdate& rule, CallSite site)
      : ComponentValues(core, cross, members.front().variable.record->info, true, site),
        members_(std::move(members)) {
    for (int c = 0; c < places().size(); ++c) {
      plans_.emplace_back(rule, place_of(c), site);
      for (const Member& member : members_) plan(member, c);
      plans_.back().close();
    }
  }

  // Throws: exceptions of the strategy. Variables then have no value.
  void carry_out() {
    try {
      core().update(*this, site());
      require_all();
      for_each_changed([this](const FusedVariable& changed) {
        changed.calls->finish(core(), *changed.record, site());
      });
    } catch (...) {
      for_each_changed([](const FusedVariable& changed) {
        changed.record->info.lost = std::current_exception();
      });
      throw;
    }
  }

 private:
  template <class F>
  void for_each_changed(const F& fn) const {
    for (const Member& member : members_) member.for_each_changed(fn);
  }

  std::vector<AnyTensor*> tensors_of(const FusedVariable& variable, int component) const {
    std::vector<LeafRef> leaves;
    variable.calls->leaves(*variable.record, component, leaves);
    std::vector<AnyTensor*> tensors;
    for (const LeafRef& leaf : leaves) {
      if (leaf.tensor == nullptr) {
        refuse(ErrorCode::kDType, variable.record->info.name + " has numbers beside tensors",
               "keep the numbers in a variable of their own", site());
      }
      tensors.push_back(leaf.tensor);
    }
    return tensors;
  }

  void plan(const Member& member, int component) {
    std::vector<std::vector<AnyTensor*>> changed;
    member.for_each_changed(
        [&](const FusedVariable& variable) { changed.push_back(tensors_of(variable, component)); });
    std::vector<AnyTensor> gradients;
    member.gradient->leaves(member.gradient->value, replica_beside(component), gradients);
    const std::string& name = member.variable.record->info.name;
    const std::size_t tensors = changed.front().size();
    const auto require_tensors = [&](const char* what, std::size_t count) {
      if (count == tensors) return;
      refuse(ErrorCode::kInvalidArgument,
             fmt::format("{} has {} tensors, and its {} {}", name, tensors, what, count),
             "give slots and gradients the structure of their variable", site());
    };
    for (const auto& slot : changed) require_tensors("slot", slot.size());
    require_tensors("gradient", gradients.size());
    for (std::size_t t = 0; t < tensors; ++t) {
      std::vector<AnyTensor*> together;
      for (const auto& variable : changed) together.push_back(variable[t]);
      plans_.back().add(name, std::move(together), gradients[t]);
    }
  }

  void compute_value(int component) override {
    plans_[static_cast<std::size_t>(component)].enqueue();
  }
  void copy_values(int from, const std::vector<int>& to) override {
    const std::vector<Placement> targets = places_of(to);
    for_each_changed([&](const FusedVariable& changed) {
      const std::vector<AnyTensor*> source = tensors_of(changed, from);
      for (std::size_t t = 0; t < source.size(); ++t) {
        std::vector<AnyTensor> copies = core().broadcast(*source[t], targets);
        for (std::size_t i = 0; i < to.size(); ++i) {
          *tensors_of(changed, to[i])[t] = std::move(copies[i]);
        }
      }
    });
  }

  std::vector<Member> members_;
  std::vector<ComponentPlan> plans_;  // By component.
};

void require_variable(const StrategyCore& core, const FusedVariable& variable, CallSite site) {
  if (variable.record == nullptr) throw_empty_variable(site);
  require_own_value(core, variable.record->info, site);
  require_kind(variable.record->info, Synchronization::kOnWrite, site);
}

void require_apart(const std::vector<Member>& members, CallSite site) {
  std::vector<std::pair<std::uint64_t, const VariableInfo*>> all;
  for (const Member& member : members) {
    member.for_each_changed([&](const FusedVariable& changed) {
      all.emplace_back(changed.record->info.number, &changed.record->info);
    });
  }
  std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
  const auto twice = std::ranges::adjacent_find(all, {}, [](const auto& one) { return one.first; });
  if (twice == all.end()) return;
  refuse(
      ErrorCode::kInvalidArgument, twice->second->name + " is in the lists twice",
      "name each variable and each slot once; it was made at " + to_string(twice->second->created),
      site);
}

void require_counts(const TensorVariables& variables, const FusedUpdate& rule,
                    const TensorVariables& slots, const TensorValues& gradients, CallSite site) {
  if (gradients.size() != variables.size()) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("{} gradients for {} variables", gradients.size(), variables.size()),
           "give a value for each variable, in the same order; TensorValues::none() leaves a "
           "variable as it is",
           site);
  }
  if (slots.size() == rule.slots() * variables.size()) return;
  refuse(ErrorCode::kInvalidArgument,
         fmt::format("{} slots for {} variables, and {} keeps {} for each", slots.size(),
                     variables.size(), name_of(rule), rule.slots()),
         "make mirrored variables of zeros in the shapes of the variables: the first slots of all "
         "variables, then the second",
         site);
}

// The members with a gradient.
std::vector<Member> members_of(StrategyCore& core, const TensorVariables& variables,
                               const TensorVariables& slots, const TensorValues& gradients,
                               CallSite site) {
  std::vector<Member> members;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    Member member{variables.entries()[v], {}, &gradients.entries()[v]};
    for (std::size_t s = v; s < slots.size(); s += variables.size()) {
      member.slots.push_back(slots.entries()[s]);
    }
    member.for_each_changed(
        [&](const FusedVariable& variable) { require_variable(core, variable, site); });
    const VariableInfo& info = member.variable.record->info;
    for (const FusedVariable& slot : member.slots) {
      if (slot.record->info.places == info.places) continue;
      refuse(ErrorCode::kDestination,
             fmt::format("{} and its slot {} are on different devices", info.name,
                         slot.record->info.name),
             "make both in the same scope", site);
    }
    if (member.gradient->leaves != nullptr) {
      require_replicas(core, member.gradient->replicas, site);
      members.push_back(std::move(member));
    }
  }
  require_apart(members, site);
  return members;
}

// Lists of members on common devices, in the order of the members.
std::vector<std::vector<Member>> by_places(std::vector<Member> members) {
  std::vector<std::vector<Member>> groups;
  for (Member& member : members) {
    const VariablePlaces& places = member.variable.record->info.places;
    const auto same = std::ranges::find_if(groups, [&places](const auto& group) {
      return group.front().variable.record->info.places == places;
    });
    (same == groups.end() ? groups.emplace_back() : *same).push_back(std::move(member));
  }
  return groups;
}

// Gives replicas on other devices their copies back, after a refusal.
void restore_views(StrategyCore& core, const std::vector<Member>& members) noexcept {
  for (const Member& member : members) {
    member.for_each_changed([&](const FusedVariable& changed) {
      try {
        changed.calls->renew(core, *changed.record);
      } catch (...) {
        changed.record->info.lost = std::current_exception();
      }
    });
  }
}

void change_all(StrategyCore& core, CrossReplicaContext& cross, std::vector<Member> members,
                const FusedUpdate& rule, CallSite site) {
  const SiteScope scope(site);
  // Copies for other devices may share the memory of a component.
  for (const Member& member : members) {
    member.for_each_changed([](const FusedVariable& one) { one.calls->release(*one.record); });
  }
  std::vector<std::unique_ptr<FusedWork>> works;
  try {
    for (std::vector<Member>& group : by_places(members)) {
      works.push_back(std::make_unique<FusedWork>(core, cross, std::move(group), rule, site));
    }
  } catch (...) {
    restore_views(core, members);
    std::rethrow_exception(at_site(std::current_exception(), site));
  }
  for (const auto& work : works) work->carry_out();
}

}  // namespace

void ListVerbs::update_all(const TensorVariables& variables, const FusedUpdate& rule,
                           const TensorVariables& slots, const TensorValues& gradients,
                           CallSite site) {
  auto& cross = static_cast<CrossReplicaContext&>(*this);
  StrategyCore& core = cross.core();
  core.require_change("update_all", site);
  require_counts(variables, rule, slots, gradients, site);
  std::vector<Member> members = members_of(core, variables, slots, gradients, site);
  if (!members.empty()) change_all(core, cross, std::move(members), rule, site);
  core.statistics().updates += 1;
}

}  // namespace belfry::detail
