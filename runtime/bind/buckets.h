// Buckets: tensors that are sent together. Sizes are those of torch.nn.parallel.DistributedDataParallel.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sheaf {

/// The first is small, so that sending begins early; the last limit applies to all that follow.
inline constexpr size_t kBucketLimits[] = {size_t{1} << 20, size_t{25} << 20};

/// Between processes: a message costs little beyond its bytes, and nothing hides the last bucket.
inline constexpr size_t kMessageBucketLimits[] = {size_t{1} << 20, size_t{4} << 20};

/// Tensors of `sizes` bytes, in their order, in buckets: each is full once it holds its limit's bytes or more
/// (torch's _compute_bucket_assignment_by_size). `limits`: at least one.
std::vector<std::vector<size_t>> assign_buckets(std::span<const size_t> sizes, std::span<const size_t> limits = kBucketLimits);

}  // namespace sheaf
