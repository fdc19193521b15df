// Tells the address sanitizer which stack the code runs on.
//
// SystemC's coroutines tell it which kernel's stack they switch to, but not when they come back. It
// would go on with the bounds of that stack, and a later exception would leave shadow memory wrong.
// Nothing in a build without the sanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#include <cstddef>

namespace bwmm::units {

// The calling code is on its thread's own stack.
inline void OnOwnStack() {
#if defined(__SANITIZE_ADDRESS__)
  struct Bounds {
    void* bottom = nullptr;
    std::size_t size = 0;
    Bounds() {
      pthread_attr_t attributes;
      if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
      pthread_attr_getstack(&attributes, &bottom, &size);
      pthread_attr_destroy(&attributes);
    }
  };
  static thread_local const Bounds bounds;
  __sanitizer_start_switch_fiber(nullptr, bounds.bottom, bounds.size);
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

// The stack of a coroutine of SystemC, told of where its code begins and goes on. An exception that
// the code itself catches needs the bounds as much as one that ends it.
class CoroutineStack {
 public:
  // The calling code is at the top of a new coroutine's stack of `bytes`, whose memory may have
  // been another coroutine's.
  void Begin([[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr std::size_t kMargin = 64 << 10;
    const char* here = static_cast<const char*>(__builtin_frame_address(0));
    size_ = bytes - kMargin;
    bottom_ = here - size_;
    ASAN_UNPOISON_MEMORY_REGION(bottom_, size_);
    Resume();
#endif
  }
  // The coroutine runs again.
  void Resume() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(nullptr, bottom_, size_);
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  const char* bottom_ = nullptr;
  std::size_t size_ = 0;
#endif
};

}  // namespace bwmm::units
