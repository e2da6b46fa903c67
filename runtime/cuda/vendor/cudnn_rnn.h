// cuDNN's recurrent layers: its functions, and one layer stack's descriptors.
//
// Gates: cuDNN's LSTM has (input, forget, cell, output) and its GRU (reset, update, new), which is PyTorch's order for both,
// and both apply the GRU's reset gate after the product; an RNN has one gate. So each of PyTorch's weights fits into cuDNN's
// weight space unchanged.
#pragma once

#include "runtime/steps/rnn_shape.h"
#include "runtime/cuda/own_launch.h"
#include "runtime/cuda/vendor/library.h"

#include <cudnn.h>

#include <memory>
#include <string>
#include <vector>

namespace sheaf::cuda {

struct RnnFunctions {
  /// Opened once. Errors: no cuDNN, or one that lacks a function.
  static Result<const RnnFunctions*> open();
  Error failure(const char* call, cudnnStatus_t status) const;

  decltype(::cudnnGetErrorString)* get_error_string = nullptr;
  decltype(::cudnnCreateTensorDescriptor)* create_tensor = nullptr;
  decltype(::cudnnDestroyTensorDescriptor)* destroy_tensor = nullptr;
  decltype(::cudnnSetTensorNdDescriptor)* set_tensor = nullptr;
  decltype(::cudnnGetTensorNdDescriptor)* get_tensor = nullptr;
  decltype(::cudnnCreateDropoutDescriptor)* create_dropout = nullptr;
  decltype(::cudnnDestroyDropoutDescriptor)* destroy_dropout = nullptr;
  decltype(::cudnnSetDropoutDescriptor)* set_dropout = nullptr;
  decltype(::cudnnCreateRNNDescriptor)* create_rnn = nullptr;
  decltype(::cudnnDestroyRNNDescriptor)* destroy_rnn = nullptr;
  decltype(::cudnnSetRNNDescriptor_v8)* set_rnn = nullptr;
  decltype(::cudnnCreateRNNDataDescriptor)* create_data = nullptr;
  decltype(::cudnnDestroyRNNDataDescriptor)* destroy_data = nullptr;
  decltype(::cudnnSetRNNDataDescriptor)* set_data = nullptr;
  decltype(::cudnnGetRNNTempSpaceSizes)* temp_space_sizes = nullptr;
  decltype(::cudnnGetRNNWeightSpaceSize)* weight_space_size = nullptr;
  decltype(::cudnnGetRNNWeightParams)* weight_params = nullptr;
  decltype(::cudnnRNNForward)* forward = nullptr;
  decltype(::cudnnRNNBackwardData_v8)* backward_data = nullptr;
  decltype(::cudnnRNNBackwardWeights_v8)* backward_weights = nullptr;
};

/// Part of a weight or bias, and its position in cuDNN's weight space.
struct RnnWeightPart {
  std::string role;     ///< "weight_ih_l0"
  size_t offset = 0;    ///< bytes into the operand
  size_t in_space = 0;  ///< bytes into the weight space
  size_t bytes = 0;
};

/// One layer stack's descriptors and the memory that cuDNN needs for it.
class RnnDescriptors {
 public:
  /// `handle` null: only planned; then the sizes are estimates and there are no parts. Errors: cuDNN's.
  static Result<std::unique_ptr<RnnDescriptors>> make(cudnnHandle_t handle, const RnnShape& shape, bool training, bool fast);
  ~RnnDescriptors();

  const RnnFunctions* functions = nullptr;
  cudnnRNNDescriptor_t rnn = nullptr;
  cudnnRNNDataDescriptor_t x = nullptr, y = nullptr;
  cudnnTensorDescriptor_t state = nullptr;  ///< of h and c
  size_t weight_bytes = 0, workspace_bytes = 0, reserve_bytes = 0;
  std::vector<RnnWeightPart> parts;

 private:
  Result<void> describe(cudnnHandle_t handle, const RnnShape& shape, bool fast);
  Result<void> measure(cudnnHandle_t handle, bool training);
  Result<void> locate(cudnnHandle_t handle, const RnnShape& shape);

  cudnnDropoutDescriptor_t dropout_ = nullptr;
};

}  // namespace sheaf::cuda
