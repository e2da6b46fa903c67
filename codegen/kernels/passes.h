// The passes that turn kernels (func.func over flat memrefs, scf, arith, math) into functions of the plan's binary interface,
// in pipeline order; codegen/kernels/pipeline.cpp gives the reasons for the order.
#pragma once

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"

#include <memory>

namespace sheaf::kernels {

/// On a function: it is a kernel.
inline constexpr llvm::StringLiteral kernel_attribute = "kernel";
/// On a kernel, an array of buffer positions: these may be one and the same buffer, since at each position all reads precede
/// the writes and no iteration reads what another writes.
inline constexpr llvm::StringLiteral in_place_attribute = "in_place";

/// On a kernel, a dictionary: its GpuSchedule (gpu_schedule.h), `block`, `lanes` and, where
/// so, `columns`, `size` and `across`.
inline constexpr llvm::StringLiteral schedule_attribute = "gpu_schedule";
/// On a kernel: one flat loop over elements, without extents. It can be launched for several tensors at once (launches_many()).
inline constexpr llvm::StringLiteral many_attribute = "many";
/// On the function made from it: the number of threads of a block.
inline constexpr llvm::StringLiteral block_attribute = "gpu_block";
/// On such a function, if its text contains the kernel's elements several times.
inline constexpr llvm::StringLiteral repeated_attribute = "gpu_repeated";
/// On such a function, if its threads access memory by vectors: the least number of blocks that a multiprocessor keeps, which
/// limits the registers of a thread.
inline constexpr llvm::StringLiteral resident_attribute = "gpu_resident";
/// NVPTX's number of global memory.
inline constexpr int64_t global_space = 1;

/// On func.func: fast-math flags reassoc, nsz, contract on floating-point ops that have none; without reassoc in kernels over
/// elements for GPUs, whose copies in one text must give the same bits.
std::unique_ptr<mlir::Pass> create_fast_math_pass();
/// On func.func: math functions without an instruction become polynomials.
std::unique_ptr<mlir::Pass> create_expand_math_pass();
/// On func.func: memref<?xT> arguments become memref<1xT>, which a bare pointer can represent, with noalias.
std::unique_ptr<mlir::Pass> create_kernel_abi_pass();
/// On a module: arith, math, memref, cf and func become the LLVM dialect, with bare pointers as arguments.
std::unique_ptr<mlir::Pass> create_kernel_lowering_pass();
/// On a module in the LLVM dialect: gives each kernel its entry `(ptr buffers, ptr extents, i64 begin, i64
/// end)`, and marks the loops of in-place kernels as free of dependences.
std::unique_ptr<mlir::Pass> create_kernel_entry_pass();

/// On a module: kernels with a schedule become the functions that a GPU's threads run, `K` and, if marked `many`, `K_many`
/// (docs/cuda.md), with NVVM's thread numbers, shuffles and barriers.
std::unique_ptr<mlir::Pass> create_gpu_schedule_pass();
/// On a module in the LLVM dialect: these functions become PTX entries.
std::unique_ptr<mlir::Pass> create_ptx_entry_pass();

/// Registers all of the above with MLIR's pass registry, for sheaf-opt.
void register_kernel_passes();

}  // namespace sheaf::kernels
