// Steps that are a product by cuBLASLt, followed by the project's own kernels if it lacks something.
#pragma once

#include "runtime/cuda/vendor/cublaslt.h"
#include "runtime/cuda/vendor/library.h"

namespace sheaf::cuda {

/// Zeros, then the product, then launches; each of them may be missing.
class ProductOperation final : public Operation, public CountsLaunches {
 public:
  struct Zeros {
    MemoryRef where;
    size_t bytes;
  };
  ProductOperation(Driver& driver, int device, std::shared_ptr<OwnKernels> kernels)
      : driver_(driver), device_(device), kernels_(std::move(kernels)) {}
  Result<void> enqueue(const Enqueue& at) override;
  int launches() const override {
    return static_cast<int>(zeros.size() + after.size() + (product ? product->request().calls.size() : 0));
  }

  std::vector<Zeros> zeros;
  std::vector<KernelCall> after;
  std::unique_ptr<LtProduct> product;

 private:
  Driver& driver_;
  int device_;
  std::shared_ptr<OwnKernels> kernels_;
};

/// The library and its handle, ready on the context's device; throws OperationError if they are missing. Not for planning.
std::shared_ptr<CublasLt> cublaslt_of(LibraryContext& context);
OwnKernels& own_kernels_of(LibraryContext& context);

/// A product that cuBLASLt has an algorithm for, or null. Throws OperationError if cuBLASLt fails. While planning it is never
/// null, but has no algorithm: one is assumed to exist.
struct Chosen {
  bool found = false;
  std::unique_ptr<LtProduct> product;  ///< null while planning
};
Chosen choose_product(LibraryContext& context, const LtRequest& request, size_t& scratch_bytes);

/// For Prepared: "cuBLASLt algorithm 66, tile 20", and why.
void explain_product(const LibraryContext& context, const LtRequest& request, const LtProduct* product, const std::string& why,
                     Prepared& prepared);

}  // namespace sheaf::cuda
