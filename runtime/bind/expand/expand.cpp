// A program with sizes and devices: its frame, and steps that are neither movement nor work.
#include "runtime/bind/expand/training.h"
#include "runtime/bind/rewrites.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

const Step* first_reader(const Program& program, int value) {
  for (const Step& step : program.steps) {
    if (std::find(step.inputs.begin(), step.inputs.end(), value) != step.inputs.end()) return &step;
  }
  return nullptr;
}

std::string torch_size(const std::vector<int64_t>& dims) {
  std::string text = "torch.Size([";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "])";
}

class Expansion {
 public:
  Expansion(const BindContext& context, Replicas replicas)
      : context_(context),
        replicas_(std::move(replicas)),
        builder_(context),
        variables_(builder_),
        formats_(builder_, variables_),
        messages_(builder_, variables_),
        movement_(builder_, replicas_, formats_, variables_, messages_),
        weights_(builder_, replicas_, variables_),
        calls_(builder_, replicas_, formats_, variables_),
        training_(builder_, replicas_, formats_, messages_, movement_, weights_, calls_) {}

  Result<BoundProgram> run() {
    SHEAF_TRY(add_sources());
    for (size_t i = 0; i < context_.program.steps.size(); ++i) {
      SHEAF_TRY(add_step(StepId(i)));
      SHEAF_TRY(training_.check_loss(StepId(i)));
    }
    SHEAF_TRY(training_.finish_buckets(nullptr));
    SHEAF_TRY(add_outputs());
    SHEAF_TRY(training_.add_updates(variables_));
    SHEAF_TRY(messages_.agree());
    return std::move(builder_.program);
  }

 private:
  Result<void> add_sources() {
    int inputs = 0;
    for (ValueId id : builder_.program.values.ids()) {
      const Value& value = context_.value(id);
      if (value.role == Value::temporary) continue;
      const Step* reader = first_reader(context_.program, id.number());
      SHEAF_ASSIGN(const auto places,
                   replicas_.spots(value, reader ? reader->layer : value.name, reader ? reader->location : Location{}));
      const bool given = value.role == Value::input || value.role == Value::target || value.role == Value::setting;
      for (const Spot& spot : places) {
        SHEAF_ASSIGN(const auto source, given ? add_input(id, inputs) : weights_.find(id, value.source, spot));
        SHEAF_ASSIGN(const auto local, movement_.moved(source, value.name, {}, spot));
        builder_.define(id, spot.replica, local);
      }
      inputs += given ? 1 : 0;
    }
    return {};
  }

  Result<TensorId> add_input(ValueId value, int number) {
    SHEAF_ASSIGN(auto spec, replicas_.spec(value, 0));
    return builder_.add(std::move(spec), builder_.name(value), kHostLane, Tensor::Given{number});
  }

  Result<void> add_step(StepId id) {
    const Step& step = context_.step(id);
    const Op op = step.op;
    SHEAF_TRY(training_.finish_buckets(&step));
    const Movement movement = traits(op).movement;
    switch (movement.carries) {
      case Carries::nothing: break;
      case Carries::chunks: return move_chunks(id, movement.route);
      case Carries::whole: return movement_.replicate(id);
      case Carries::summands:
        if (movement.route != Route::among) return training_.reduce(id);
        return op == Op::reduce_scatter ? training_.shares().reduce_scatter(id) : training_.all_reduce(id);
    }
    const bool works = op != Op::view && op != Op::print;
    if (works && step.place.kind == Place::region && training_.alike(id)) return training_.call_alike(id);
    if (works && context_.value(ValueId(step.outputs[0])).layout.kind == ValueLayout::sharded)
      return training_.shares().call(id);
    SHEAF_ASSIGN(const auto places, replicas_.spots(step));
    for (const Spot& spot : places) {
      Result<void> done = op == Op::view ? view(id, spot) : op == Op::print ? print(id, spot) : calls_.call(id, spot);
      if (!done) return replicas_.located(std::move(done.error()), step, spot);
    }
    return {};
  }

  Result<void> move_chunks(StepId id, Route route) {
    switch (route) {
      case Route::to_replicas: return movement_.scatter(id);
      case Route::among: return training_.shares().all_gather(id);
      case Route::within: return movement_.shard(id);
      default: return movement_.gather(id);
    }
  }

  Result<void> view(StepId id, const Spot& spot) {
    const Step& step = context_.step(id);
    const ValueId result(step.outputs[0]);
    SHEAF_ASSIGN(const auto plain, formats_.in_plain(builder_.at(ValueId(step.inputs[0]), spot.replica), id, spot));
    SHEAF_ASSIGN(auto spec, replicas_.spec(result, spot.replica));
    if (const size_t bytes = builder_.spec(plain).bytes; spec.bytes != bytes) {
      return Error("layer '" + step.layer + "': a view of " + std::to_string(bytes) + " bytes as " +
                   std::to_string(spec.bytes));
    }
    builder_.define(result, spot.replica, builder_.add_view(plain, 0, std::move(spec), builder_.name(result), spot.lane));
    return {};
  }

  Result<void> print(StepId id, const Spot& spot) {
    const Step& step = context_.step(id);
    std::vector<TensorId> inputs;
    for (int input : step.inputs) inputs.push_back(builder_.at(ValueId(input), spot.replica));
    const TensorId x = inputs[0];
    const ValueId result(step.outputs[0]);
    const TensorId passed = builder_.add_view(x, 0, builder_.spec(x), builder_.name(result), spot.lane);
    builder_.define(result, spot.replica, passed);
    Instance::Print text{line_of(step, inputs)};
    const InstanceId line = builder_.add(std::move(text), id, spot, std::move(inputs), {});
    builder_.program.tensors[passed].writers.push_back(line);  // ops after the layer follow its line
    return {};
  }

  /// The text of a print step, with the shapes of the inputs it names: `{0}`.
  std::string line_of(const Step& step, const std::vector<TensorId>& inputs) const {
    const auto text = step.attributes.value("text", std::string());
    std::string line;
    for (size_t i = 0; i < text.size(); ++i) {
      size_t digits = i + 1;
      while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
      const bool reference = text[i] == '{' && digits > i + 1 && digits - i < 8 && digits < text.size() && text[digits] == '}';
      const size_t input = reference ? std::stoul(text.substr(i + 1, digits - i - 1)) : 0;
      if (!reference || input >= inputs.size()) {
        line += text[i];
        continue;
      }
      line += torch_size(builder_.spec(inputs[input]).dims);
      i = digits;
    }
    return line + "\n";
  }

  Result<void> add_outputs() {
    for (const Output& output : context_.program.outputs) {
      const ValueId id(output.value);
      SHEAF_ASSIGN(const auto places, replicas_.spots(context_.value(id).place, builder_.name(id), {}));
      SHEAF_ASSIGN(auto plain, formats_.in_plain(builder_.at(id, 0), {}, places.front()));
      if (messages_.between(builder_.tensor(plain).lane, kHostLane)) {
        SHEAF_ASSIGN(plain, movement_.moved(plain, builder_.name(id), {}, {}));
      }
      messages_.deliver(plain, static_cast<int>(builder_.program.outputs.size()));
      builder_.program.outputs.push_back(plain);
    }
    return {};
  }

  const BindContext& context_;
  const Replicas replicas_;
  Builder builder_;
  VariableFormats variables_;
  Formats formats_;
  RankMessages messages_;
  Movements movement_;
  Weights weights_;
  Calls calls_;
  Training training_;
};

}  // namespace

Result<BoundProgram> expand(const BindContext& context) {
  SHEAF_ASSIGN(auto replicas, Replicas::find(context));
  return Expansion(context, std::move(replicas)).run();
}

}  // namespace sheaf
