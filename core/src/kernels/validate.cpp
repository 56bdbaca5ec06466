// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "belfry/backend/kernel.h"
#include "belfry/backend/user_kernel.h"
#include "belfry/error.h"
#include "kernels/names.h"
#include "kernels/views.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {
namespace {

using kernels::name_of;

/// The checks of a kernel, with the data for their messages.
class Validator {
 public:
  Validator(const Kernel& kernel, CallSite site)
      : kernel_(kernel), parameters_(kernel.parameters), site_(site) {}

  void run() const;

 private:
  void check_views() const;
  void check_view(std::string_view role, std::size_t index, const BufferView& view) const;
  void check_overlaps() const;
  void check_elementwise(std::size_t inputs) const;
  void check_cast() const;
  void check_broadcast() const;
  void check_select() const;
  void check_fold() const;
  void check_rows_by_index() const;
  void check_matmul() const;
  void check_reduce_replicas() const;
  void check_fused_update() const;
  void check_copy_each() const;
  void check_user() const;

  const BufferView& out() const { return kernel_.outputs[0]; }
  const BufferView& in(std::size_t index) const { return kernel_.inputs[index]; }
  bool is_elementwise() const;

  void need_operands(std::size_t inputs) const;
  void need_pairs(std::size_t each) const;
  void need_count(std::string_view role, const BufferView& view, std::size_t count) const;
  void need_dtype(std::string_view role, const BufferView& view, DType dtype) const;
  void need_support(bool supported, std::string_view operation, DType dtype) const;
  void need_known(int value, int last, std::string_view what) const;
  std::size_t product(std::int64_t left, std::int64_t right) const;
  std::string_view name() const;
  [[noreturn]] void fail(ErrorCode code, const std::string& summary,
                         const std::string& hint = {}) const;

  const Kernel& kernel_;
  const KernelParameters& parameters_;
  CallSite site_;
};

template <class Enum>
constexpr int number(Enum value) {
  return static_cast<int>(value);
}

void Validator::run() const {
  need_known(number(kernel_.kind), number(KernelKind::kUser), "kind");
  check_views();
  switch (kernel_.kind) {
    case KernelKind::kFill:
      need_operands(0);
      break;
    case KernelKind::kCast:
      check_cast();
      break;
    case KernelKind::kUnary:
      need_known(number(parameters_.unary), number(UnaryOp::kShift), "unary operation");
      check_elementwise(1);
      need_support(element::supports(parameters_.unary, out().dtype), name_of(parameters_.unary),
                   out().dtype);
      break;
    case KernelKind::kBinary:
    case KernelKind::kCompare:
      check_broadcast();
      break;
    case KernelKind::kSelect:
      check_select();
      break;
    case KernelKind::kRowReduce:
    case KernelKind::kColumnReduce:
      check_fold();
      break;
    case KernelKind::kGatherRows:
    case KernelKind::kScatterRows:
      check_rows_by_index();
      break;
    case KernelKind::kMatmul:
      check_matmul();
      break;
    case KernelKind::kReduceReplicas:
      check_reduce_replicas();
      break;
    case KernelKind::kRandom:
      need_known(number(parameters_.distribution), number(Distribution::kBits), "distribution");
      need_operands(0);
      need_support(element::supports(parameters_.distribution, out().dtype),
                   name_of(parameters_.distribution), out().dtype);
      break;
    case KernelKind::kFusedUpdate:
      check_fused_update();
      break;
    case KernelKind::kCopyEach:
      check_copy_each();
      break;
    case KernelKind::kUser:
      check_user();
      break;
  }
  check_overlaps();
}

void Validator::check_views() const {
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
    check_view("output", i, kernel_.outputs[i]);
  }
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) check_view("input", i, kernel_.inputs[i]);
}

void Validator::check_view(std::string_view role, std::size_t index, const BufferView& view) const {
  need_known(number(view.dtype), kNumDTypes - 1, "element type");
  if (const auto fault = kernels::fault_of(view)) {
    fail(fault->code, fmt::format("{} {} {}", role, index, fault->text));
  }
}

bool Validator::is_elementwise() const {
  return kernel_.kind <= KernelKind::kSelect || kernel_.kind == KernelKind::kReduceReplicas;
}

void Validator::check_overlaps() const {
  const auto found = kernels::find_overlap(kernel_, is_elementwise());
  if (!found) return;
  fail(ErrorCode::kInvalidArgument,
       fmt::format("output {} and {} {} overlap", found->output,
                   found->with_input ? "input" : "output", found->other),
       is_elementwise() && found->with_input
           ? "An output may be an input's very view, with the same element type."
           : "");
}

void Validator::check_elementwise(std::size_t inputs) const {
  need_operands(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    need_count("input", in(i), out().count);
    need_dtype("input", in(i), out().dtype);
  }
}

void Validator::check_cast() const {
  need_operands(1);
  need_count("input", in(0), out().count);
}

void Validator::check_broadcast() const {
  const bool compares = kernel_.kind == KernelKind::kCompare;
  if (compares) {
    need_known(number(parameters_.compare), number(CompareOp::kGreaterEqual), "comparison");
  } else {
    need_known(number(parameters_.binary), number(BinaryOp::kMaximum), "binary operation");
  }
  need_known(number(parameters_.broadcast), number(Broadcast::kColumn), "broadcast");
  need_operands(2);
  const DType dtype = in(0).dtype;
  if (!compares) {
    need_support(element::supports(parameters_.binary, dtype), name_of(parameters_.binary), dtype);
  }
  need_dtype("right", in(1), dtype);
  need_dtype("output", out(), compares ? DType::kBool : dtype);
  need_count("output", out(), in(0).count);
  switch (parameters_.broadcast) {
    case Broadcast::kNone:
      return need_count("right", in(1), in(0).count);
    case Broadcast::kScalar:
      return need_count("right", in(1), 1);
    case Broadcast::kRow:
    case Broadcast::kColumn:
      need_count("left", in(0), product(parameters_.rows, parameters_.columns));
      need_count(
          "right", in(1),
          static_cast<std::size_t>(parameters_.broadcast == Broadcast::kRow ? parameters_.columns
                                                                            : parameters_.rows));
  }
}

void Validator::check_select() const {
  need_operands(3);
  need_dtype("condition", in(0), DType::kBool);
  for (std::size_t i = 0; i < 3; ++i) {
    need_count("input", in(i), out().count);
    if (i > 0) need_dtype("input", in(i), out().dtype);
  }
}

void Validator::check_fold() const {
  need_known(number(parameters_.fold), number(FoldOp::kProduct), "fold");
  need_operands(1);
  need_support(element::supports(parameters_.fold, out().dtype), name_of(parameters_.fold),
               out().dtype);
  need_dtype("input", in(0), out().dtype);
  need_count("input", in(0), product(parameters_.rows, parameters_.columns));
  need_count("output", out(),
             static_cast<std::size_t>(
                 kernel_.kind == KernelKind::kRowReduce ? parameters_.rows : parameters_.columns));
}

void Validator::check_rows_by_index() const {
  need_operands(2);
  const bool gathers = kernel_.kind == KernelKind::kGatherRows;
  if (!gathers) {
    need_known(number(parameters_.scatter), number(ScatterOp::kSet), "scatter operation");
    need_support(element::supports(parameters_.scatter, out().dtype), name_of(parameters_.scatter),
                 out().dtype);
  }
  if (in(0).dtype != DType::kInt32 && in(0).dtype != DType::kInt64) {
    fail(ErrorCode::kDType, fmt::format("the index has element type {}", to_string(in(0).dtype)),
         "An index is int32 or int64.");
  }
  need_dtype("input", in(1), out().dtype);
  const std::size_t count = product(parameters_.rows, parameters_.columns);
  need_count("index", in(0), static_cast<std::size_t>(parameters_.rows));
  need_count(gathers ? "output" : "input", gathers ? out() : in(1), count);
  const std::size_t table = gathers ? in(1).count : out().count;
  const auto columns = static_cast<std::size_t>(parameters_.columns);
  if (columns == 0 ? table != 0 : table % columns != 0) {
    fail(ErrorCode::kShape,
         fmt::format("the table has {} elements, which are no whole rows of {}", table, columns));
  }
}

void Validator::check_matmul() const {
  need_operands(2);
  need_support(element::is_numeric(out().dtype), "multiply and add", out().dtype);
  need_dtype("left", in(0), out().dtype);
  need_dtype("right", in(1), out().dtype);
  need_count("left", in(0), product(parameters_.rows, parameters_.inner));
  need_count("right", in(1), product(parameters_.inner, parameters_.columns));
  need_count("output", out(), product(parameters_.rows, parameters_.columns));
}

void Validator::check_reduce_replicas() const {
  need_known(number(parameters_.reduce), number(ReduceOp::kProd), "reduction");
  need_known(number(parameters_.order), number(ReductionOrder::kUnspecified), "order");
  if (kernel_.inputs.empty() || kernel_.outputs.empty()) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{} inputs and {} outputs", kernel_.inputs.size(), kernel_.outputs.size()),
         "It needs one or more of each.");
  }
  need_support(out().dtype != DType::kBool, to_string(parameters_.reduce), out().dtype);
  for (const BufferView& view : kernel_.inputs) {
    need_count("input", view, out().count);
    need_dtype("input", view, out().dtype);
  }
  for (const BufferView& view : kernel_.outputs) {
    need_count("output", view, out().count);
    need_dtype("output", view, out().dtype);
  }
  if (parameters_.reduce == ReduceOp::kMean && !is_floating(out().dtype)) {
    fail(ErrorCode::kIntegerMean, fmt::format("mean over {}", to_string(out().dtype)),
         "Cast to a floating type first, or reduce with an integer policy.");
  }
}

void Validator::check_fused_update() const {
  need_known(number(parameters_.update), number(UpdateRule::kAdam), "update rule");
  const std::size_t each = 1 + slots_of(parameters_.update);
  need_pairs(each);
  need_support(is_floating(out().dtype), "an update", out().dtype);
  for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) {
    need_dtype("output", kernel_.outputs[o], out().dtype);
    need_count("output", kernel_.outputs[o], in(o / each).count);
  }
  for (const BufferView& view : kernel_.inputs) need_dtype("input", view, out().dtype);
}

void Validator::check_copy_each() const {
  need_pairs(1);
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) {
    need_dtype("output", kernel_.outputs[i], in(i).dtype);
    need_count("output", kernel_.outputs[i], in(i).count);
  }
}

// The body decides about element types and counts.
void Validator::check_user() const {
  if (kernel_.user == nullptr) fail(ErrorCode::kInvalidArgument, "the body is missing");
  const std::size_t inputs = kernel_.user->count(OperandMode::kReads);
  const std::size_t outputs = kernel_.user->traits().modes.size() - inputs;
  if (kernel_.inputs.size() == inputs && kernel_.outputs.size() == outputs) return;
  fail(ErrorCode::kInvalidArgument,
       fmt::format("{} inputs and {} outputs", kernel_.inputs.size(), kernel_.outputs.size()),
       fmt::format("Its body takes {} and {}.", inputs, outputs));
}

// Any number of inputs, and `each` outputs for each input.
void Validator::need_pairs(std::size_t each) const {
  if (!kernel_.inputs.empty() && kernel_.outputs.size() == each * kernel_.inputs.size()) return;
  fail(ErrorCode::kInvalidArgument,
       fmt::format("{} inputs and {} outputs", kernel_.inputs.size(), kernel_.outputs.size()),
       fmt::format("It needs an input or more, and {} for each input.",
                   each == 1 ? "an output" : fmt::format("{} outputs", each)));
}

void Validator::need_operands(std::size_t inputs) const {
  if (kernel_.inputs.size() == inputs && kernel_.outputs.size() == 1) return;
  fail(ErrorCode::kInvalidArgument,
       fmt::format("{} inputs and {} outputs", kernel_.inputs.size(), kernel_.outputs.size()),
       fmt::format("It needs {} and 1.", inputs));
}

void Validator::need_count(std::string_view role, const BufferView& view, std::size_t count) const {
  if (view.count == count) return;
  fail(ErrorCode::kShape, fmt::format("{} has {} elements instead of {}", role, view.count, count));
}

void Validator::need_dtype(std::string_view role, const BufferView& view, DType dtype) const {
  if (view.dtype == dtype) return;
  fail(ErrorCode::kDType, fmt::format("{} has element type {} instead of {}", role,
                                      to_string(view.dtype), to_string(dtype)));
}

void Validator::need_support(bool supported, std::string_view operation, DType dtype) const {
  if (supported) return;
  fail(ErrorCode::kDType, fmt::format("{} is not defined for {}", operation, to_string(dtype)),
       "Cast to a type that has it first.");
}

void Validator::need_known(int value, int last, std::string_view what) const {
  if (value <= last) return;
  fail(ErrorCode::kInvalidArgument, fmt::format("no {} has the number {}", what, value));
}

std::size_t Validator::product(std::int64_t left, std::int64_t right) const {
  if (left < 0 || right < 0) {
    fail(ErrorCode::kInvalidArgument, fmt::format("a matrix of {} by {}", left, right));
  }
  std::size_t count = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(left), static_cast<std::size_t>(right),
                             &count)) {
    fail(ErrorCode::kShape, fmt::format("a matrix of {} by {}", left, right));
  }
  return count;
}

std::string_view Validator::name() const {
  return kernel_.user == nullptr ? to_string(kernel_.kind) : kernel_.user->traits().name;
}

void Validator::fail(ErrorCode code, const std::string& summary, const std::string& hint) const {
  throw InvalidArgumentError(code, fmt::format("kernel {}: {}", name(), summary), hint, site_);
}

}  // namespace

void validate(const Kernel& kernel, CallSite site) { Validator(kernel, site).run(); }

}  // namespace belfry
