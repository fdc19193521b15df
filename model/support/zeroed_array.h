// A fixed number of plain values, zero until written. The system makes a page when it is touched,
// so a memory of which a program uses a corner costs that corner.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace bwmm {

template <typename T>
class ZeroedArray {
  static_assert(std::is_trivial_v<T>, "zero bytes are a value");

 public:
  // std::bad_alloc when there is no room.
  explicit ZeroedArray(std::size_t size)
      : data_(static_cast<T*>(std::calloc(size, sizeof(T)))), size_(size) {
    if (data_ == nullptr && size > 0)
      throw std::bad_alloc();
  }

  std::size_t size() const { return size_; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };

  std::unique_ptr<T, Free> data_;
  std::size_t size_;
};

}  // namespace bwmm
