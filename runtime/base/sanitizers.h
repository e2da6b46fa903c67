#pragma once

namespace sheaf {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHEAF_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define SHEAF_THREAD_SANITIZER
#endif
#endif

/// Whether this build is one of AddressSanitizer's. Its heap isn't the C library's.
#if defined(SHEAF_ADDRESS_SANITIZER) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

/// Whether this build is one of ThreadSanitizer's.
#if defined(SHEAF_THREAD_SANITIZER) || defined(__SANITIZE_THREAD__)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif
}  // namespace sheaf
