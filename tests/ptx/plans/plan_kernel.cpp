#include "tests/ptx/plans/plan_kernel.h"
#include "runtime/plan/op_list.h"
#include "tests/ptx/float_formats.h"

#include <cstring>
#include <random>
#include <numeric>

namespace sheaf::ptx {

int64_t PlanKernel::size() const {
  int64_t sum = 0;
  for (int64_t n : elements) sum += n;
  return sum;
}

void PlanKernel::shorten(int64_t most) {
  if (size() <= most || work != gpu_work) return;
  const int64_t vectors = std::gcd(work, int64_t{16});  // a range of whole vectors stays one
  work = gpu_work = std::max<int64_t>(1, work / (size() / most + 1) / vectors) * vectors;
}

namespace {

/// Values of a program's symbols on the second of two replicas.
std::map<std::string, int64_t> symbol_values(const sheaf::Program& program, int64_t rows) {
  std::map<std::string, int64_t> values;
  auto value_of = [&](const std::string& name) -> const int64_t* {
    auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  };
  for (const Symbol& symbol : program.symbols) {
    const Result<int64_t> whole =
        symbol.kind == Symbol::chunk || symbol.kind == Symbol::offset ? evaluate(symbol.of, value_of) : 0;
    const int64_t of = whole ? *whole : 0, first = (of + 1) / 2;
    values[symbol.name] = symbol.kind == Symbol::batch      ? rows
                          : symbol.kind == Symbol::replicas ? 2
                          : symbol.kind == Symbol::chunk    ? of - first
                                                            : first;
  }
  return values;
}

Result<PlanKernel> sized(const Plan& plan, const sheaf::Program& program, const Step& step,
                         const std::map<std::string, int64_t>& symbols) {
  auto value_of = [&](const std::string& name) -> const int64_t* {
    auto found = symbols.find(name);
    return found == symbols.end() ? nullptr : &found->second;
  };
  auto attribute = [&](const Json& json) -> Result<int64_t> {
    if (json.is_number_integer()) return json.get<int64_t>();
    auto extent = parse_extent(json.get<std::string>());
    if (!extent) return extent.error();
    return evaluate(*extent, value_of);
  };
  PlanKernel kernel;
  kernel.layer = step.layer;
  for (const Kernel& described : plan.kernels)
    if (described.name == step.kernel) kernel.kernel = &described;
  if (!kernel.kernel) return Error("no kernel '" + step.kernel + "'");
  kernel.inputs = step.inputs.size();
  for (auto* list : {&step.inputs, &step.outputs}) {
    for (int index : *list) {
      const Value& value = program.values[static_cast<size_t>(index)];
      int64_t elements = 1;
      for (const Extent& extent : value.shape) {
        auto size = evaluate(extent, value_of);
        if (!size) return size.error();
        elements *= *size;
      }
      kernel.dtypes.push_back(value.dtype);
      kernel.elements.push_back(elements);
    }
  }
  for (const Json& json : step.attributes.value("extents", Json::array())) {
    auto value = attribute(json);
    if (!value) return value.error();
    kernel.extents.push_back(*value);
  }
  kernel.extents.resize(static_cast<size_t>(kernel.kernel->extents));
  auto work = attribute(step.attributes.value("work", Json(0)));
  if (!work) return work.error();
  kernel.work = *work;
  auto gpu_work = step.attributes.contains("gpu_work") ? attribute(step.attributes["gpu_work"]) : work;
  if (!gpu_work) return gpu_work.error();
  kernel.gpu_work = *gpu_work;
  for (const Json& pair : step.attributes.value("in_place", Json::array()))
    kernel.in_place.emplace_back(pair[0].get<int>(), pair[1].get<int>());
  if (step.attributes.contains("status"))
    kernel.status = static_cast<int>(kernel.inputs) + step.attributes["status"].get<int>();
  return kernel;
}

template <typename T>
void fill(std::vector<std::byte>& bytes, const std::function<T()>& value) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T element = value();
    std::memcpy(bytes.data() + at, &element, sizeof element);
  }
}

}  // namespace

Result<std::map<std::string, PlanKernel>> plan_kernels(const Plan& plan, int64_t rows) {
  std::map<std::string, PlanKernel> kernels;
  for (const sheaf::Program* program : {&plan.infer, &plan.train, &plan.accumulate, &plan.update}) {
    const auto symbols = symbol_values(*program, rows);
    for (const Step& step : program->steps) {
      if (step.op != Op::kernel) continue;
      auto kernel = sized(plan, *program, step, symbols);
      if (!kernel) return kernel.error();
      if (kernel->work <= 0) continue;
      auto [entry, made] = kernels.try_emplace(step.kernel, *kernel);
      if (!made && kernel->size() < entry->second.size()) entry->second = *kernel;
    }
  }
  return kernels;
}

Buffers::Buffers(const PlanKernel& kernel, unsigned seed, Numbers numbers) : dtypes_(kernel.dtypes) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  auto number = [&](int64_t elements) {
    const float value = normal(engine);
    // Scalars are rates, counts and the like.
    if (elements == 1 || numbers == Numbers::positive) return std::fabs(value) + 0.125f;
    if (numbers == Numbers::special && engine() % 64 == 0) {
      constexpr float kSpecial[] = {NAN, INFINITY, -INFINITY, 0, -0.0f};
      return kSpecial[engine() % 5];
    }
    return value;
  };
  for (size_t i = 0; i < kernel.dtypes.size(); ++i) {
    const int64_t elements = kernel.elements[i];
    auto& block = blocks_.emplace_back(static_cast<size_t>(elements) * size_of(kernel.dtypes[i]), std::byte{0xa5});
    if (static_cast<int>(i) == kernel.status) std::fill(block.begin(), block.end(), std::byte{0});
    if (i >= kernel.inputs) continue;
    switch (kernel.dtypes[i]) {
      case DType::float32: fill<float>(block, [&] { return number(elements); }); break;
      case DType::bfloat16: fill<uint16_t>(block, [&] { return float_to_bfloat(number(elements)); }); break;
      case DType::float16: fill<uint16_t>(block, [&] { return double_to_half(number(elements)); }); break;
      case DType::int64: fill<int64_t>(block, [&] { return static_cast<int64_t>(engine() % 3); }); break;
      case DType::int32: fill<int32_t>(block, [&] { return static_cast<int32_t>(engine() % 3); }); break;
      case DType::boolean:
      case DType::uint8: fill<uint8_t>(block, [&] { return static_cast<uint8_t>(engine() % 2); }); break;
    }
  }
}

double Buffers::value(size_t i, int64_t element) const {
  const std::byte* at = blocks_[i].data() + static_cast<size_t>(element) * size_of(dtypes_[i]);
  auto read = [&]<typename T>(T) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtypes_[i]) {
    case DType::float32: return read(float{});
    case DType::bfloat16: return bfloat_to_float(read(uint16_t{}));
    case DType::float16: return half_to_float(read(uint16_t{}));
    case DType::int64: return static_cast<double>(read(int64_t{}));
    case DType::int32: return read(int32_t{});
    case DType::boolean:
    case DType::uint8: return read(uint8_t{});
  }
  return 0;
}

}  // namespace sheaf::ptx
