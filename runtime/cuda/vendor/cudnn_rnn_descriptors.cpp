#include "runtime/cuda/vendor/cudnn_rnn.h"
#include "runtime/cuda/vendor/shared_library.h"

#include <functional>

namespace sheaf::cuda {
namespace {

Result<RnnFunctions> open_rnn_functions() {
  SHEAF_ASSIGN(auto library, SharedLibrary::open("cuDNN", {"libcudnn.so.9"}));
  RnnFunctions f;
  SHEAF_TRY(Symbols(library)
                .require("cudnnGetErrorString", f.get_error_string)
                .require("cudnnCreateTensorDescriptor", f.create_tensor)
                .require("cudnnDestroyTensorDescriptor", f.destroy_tensor)
                .require("cudnnSetTensorNdDescriptor", f.set_tensor)
                .require("cudnnGetTensorNdDescriptor", f.get_tensor)
                .require("cudnnCreateDropoutDescriptor", f.create_dropout)
                .require("cudnnDestroyDropoutDescriptor", f.destroy_dropout)
                .require("cudnnSetDropoutDescriptor", f.set_dropout)
                .require("cudnnCreateRNNDescriptor", f.create_rnn)
                .require("cudnnDestroyRNNDescriptor", f.destroy_rnn)
                .require("cudnnSetRNNDescriptor_v8", f.set_rnn)
                .require("cudnnCreateRNNDataDescriptor", f.create_data)
                .require("cudnnDestroyRNNDataDescriptor", f.destroy_data)
                .require("cudnnSetRNNDataDescriptor", f.set_data)
                .require("cudnnGetRNNTempSpaceSizes", f.temp_space_sizes)
                .require("cudnnGetRNNWeightSpaceSize", f.weight_space_size)
                .require("cudnnGetRNNWeightParams", f.weight_params)
                .require("cudnnRNNForward", f.forward)
                .require("cudnnRNNBackwardData_v8", f.backward_data)
                .require("cudnnRNNBackwardWeights_v8", f.backward_weights)
                .result());
  return f;
}

cudnnRNNMode_t mode_of(const RnnShape& shape) {
  if (shape.gates == 1) return shape.relu ? CUDNN_RNN_RELU : CUDNN_RNN_TANH;
  return shape.gates == 4 ? CUDNN_LSTM : CUDNN_GRU;
}

/// Makes the calls one after the other until one fails.
class Calls {
 public:
  explicit Calls(const RnnFunctions& functions) : functions_(functions) {}
  template <typename F, typename... Arguments>
  Calls& operator()(const char* name, F* function, Arguments... arguments) {
    if (status_ == CUDNN_STATUS_SUCCESS) {
      status_ = function(arguments...);
      name_ = name;
    }
    return *this;
  }
  Result<void> result() const {
    if (status_ == CUDNN_STATUS_SUCCESS) return {};
    return functions_.failure(name_, status_);
  }

 private:
  const RnnFunctions& functions_;
  const char* name_ = "";
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

}  // namespace

Result<const RnnFunctions*> RnnFunctions::open() {
  static const Result<RnnFunctions> opened = open_rnn_functions();
  if (!opened) return opened.error();
  return &*opened;
}

Error RnnFunctions::failure(const char* call, cudnnStatus_t status) const {
  return Error(std::string(call) + ": " + get_error_string(status));
}

Result<std::unique_ptr<RnnDescriptors>> RnnDescriptors::make(cudnnHandle_t handle, const RnnShape& shape, bool training,
                                                             bool fast) {
  auto made = std::make_unique<RnnDescriptors>();
  if (!handle) {
    const int64_t per_direction = shape.layers * shape.directions;
    for (int64_t layer = 0; layer < shape.layers; ++layer)
      made->weight_bytes += size_t(shape.directions * shape.gates * shape.hidden *
                                   (shape.width_into(layer) + shape.hidden + (shape.bias ? 2 : 0))) *
                            sizeof(float);
    const auto cells = size_t(shape.steps * shape.rows * shape.hidden * per_direction) * sizeof(float);
    made->workspace_bytes = cells * size_t(shape.gates);
    made->reserve_bytes = training ? cells * size_t(shape.gates + 2) : 0;
    return made;
  }
  SHEAF_ASSIGN(auto functions, RnnFunctions::open());
  made->functions = functions;
  SHEAF_TRY(made->describe(handle, shape, fast));
  SHEAF_TRY(made->measure(handle, training));
  SHEAF_TRY(made->locate(handle, shape));
  return made;
}

RnnDescriptors::~RnnDescriptors() {
  if (state) functions->destroy_tensor(state);
  if (y) functions->destroy_data(y);
  if (x) functions->destroy_data(x);
  if (rnn) functions->destroy_rnn(rnn);
  if (dropout_) functions->destroy_dropout(dropout_);
}

Result<void> RnnDescriptors::describe(cudnnHandle_t handle, const RnnShape& shape, bool fast) {
  const RnnFunctions& f = *functions;
  const auto layout = shape.batch_first ? CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED : CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  const std::vector<int> lengths(size_t(shape.rows), int(shape.steps));
  const int dims[] = {int(shape.layers * shape.directions), int(shape.rows), int(shape.hidden)};
  const int strides[] = {dims[1] * dims[2], dims[2], 1};
  const auto width_out = int(shape.directions * shape.hidden);
  return Calls(f)("cudnnCreateDropoutDescriptor", f.create_dropout, &dropout_)(
             "cudnnSetDropoutDescriptor", f.set_dropout, dropout_, handle, 0.0F, nullptr, size_t{0}, 0ULL)(
             "cudnnCreateRNNDescriptor", f.create_rnn, &rnn)(
             // Without a projection its size is the state's. Strict f32 uses no tensor cores; without padded input and output
             // cuDNN would accept only packed sequences.
             "cudnnSetRNNDescriptor_v8", f.set_rnn, rnn, CUDNN_RNN_ALGO_STANDARD, mode_of(shape),
             shape.bias ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
             shape.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
             CUDNN_DATA_FLOAT, fast ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH, int32_t(shape.features), int32_t(shape.hidden),
             int32_t(shape.hidden), int32_t(shape.layers), dropout_, uint32_t(CUDNN_RNN_PADDED_IO_ENABLED))(
             "cudnnCreateRNNDataDescriptor", f.create_data, &x)("cudnnCreateRNNDataDescriptor", f.create_data, &y)(
             "cudnnSetRNNDataDescriptor", f.set_data, x, CUDNN_DATA_FLOAT, layout, int(shape.steps), int(shape.rows),
             int(shape.features), lengths.data(), nullptr)("cudnnSetRNNDataDescriptor", f.set_data, y, CUDNN_DATA_FLOAT, layout,
                                                           int(shape.steps), int(shape.rows), width_out, lengths.data(),
                                                           nullptr)("cudnnCreateTensorDescriptor", f.create_tensor, &state)(
             "cudnnSetTensorNdDescriptor", f.set_tensor, state, CUDNN_DATA_FLOAT, 3, +dims, +strides)
      .result();
}

Result<void> RnnDescriptors::measure(cudnnHandle_t handle, bool training) {
  const RnnFunctions& f = *functions;
  return Calls(f)("cudnnGetRNNWeightSpaceSize", f.weight_space_size, handle, rnn, &weight_bytes)(
             "cudnnGetRNNTempSpaceSizes", f.temp_space_sizes, handle, rnn,
             training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, x, &workspace_bytes, &reserve_bytes)
      .result();
}

/// Asks where cuDNN has each gate's matrix and bias. The addresses are only compared with one another, never dereferenced.
Result<void> RnnDescriptors::locate(cudnnHandle_t handle, const RnnShape& shape) {
  const RnnFunctions& f = *functions;
  void* const space = reinterpret_cast<void*>(uintptr_t{1} << 32);
  cudnnTensorDescriptor_t matrix = nullptr, bias = nullptr;
  auto made =
      Calls(f)("cudnnCreateTensorDescriptor", f.create_tensor, &matrix)("cudnnCreateTensorDescriptor", f.create_tensor, &bias)
          .result();
  const auto add = [&](const char* name, int64_t layer, int64_t direction, int64_t gate, void* address, int64_t elements) {
    const size_t bytes = size_t(elements) * sizeof(float);
    const auto in_space = size_t(static_cast<char*>(address) - static_cast<char*>(space));
    RnnWeightPart part{RnnShape::role(name, layer, direction), size_t(gate) * bytes, in_space, bytes};
    if (!address || in_space + bytes > weight_bytes) return false;
    if (!parts.empty() && parts.back().role == part.role && parts.back().offset + parts.back().bytes == part.offset &&
        parts.back().in_space + parts.back().bytes == part.in_space) {
      parts.back().bytes += bytes;  // adjacent gates are copied at once
    } else {
      parts.push_back(std::move(part));
    }
    return true;
  };
  struct Kind {
    const char *weight, *bias;
    int64_t first;
  };
  for (int64_t layer = 0; made && layer < shape.layers; ++layer) {
    for (int64_t direction = 0; made && direction < shape.directions; ++direction) {
      for (const Kind& kind : {Kind{"weight_ih", "bias_ih", 0}, Kind{"weight_hh", "bias_hh", shape.gates}}) {
        const int64_t width = kind.first == 0 ? shape.width_into(layer) : shape.hidden;
        for (const bool weights : {true, false}) {
          for (int64_t gate = 0; made && gate < shape.gates && (weights || shape.bias); ++gate) {
            void *matrix_at = nullptr, *bias_at = nullptr;
            made = Calls(f)("cudnnGetRNNWeightParams", f.weight_params, handle, rnn,
                            int32_t(layer * shape.directions + direction), weight_bytes, static_cast<const void*>(space),
                            int32_t(kind.first + gate), matrix, &matrix_at, bias, &bias_at)
                       .result();
            const bool there = made && (weights ? add(kind.weight, layer, direction, gate, matrix_at, shape.hidden * width)
                                                : add(kind.bias, layer, direction, gate, bias_at, shape.hidden));
            if (made && !there) made = Error("cudnnGetRNNWeightParams: a gate has no place in the weight space");
          }
        }
      }
    }
  }
  if (matrix) f.destroy_tensor(matrix);
  if (bias) f.destroy_tensor(bias);
  return made;
}

}  // namespace sheaf::cuda
