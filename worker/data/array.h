// Numbers of a data set: in memory of their own, or in a mapped file (token_cache.h).
#ifndef DDP_WORKER_DATA_ARRAY_H_
#define DDP_WORKER_DATA_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace ddp {

// Reads like a const std::vector. A view holds on to what it looks at; what changes an array makes it own its numbers.
template <typename T>
class Array {
 public:
  using value_type = T;
  using const_iterator = const T*;
  using iterator = const_iterator;
  using size_type = size_t;
  using const_reference = const T&;

  Array() = default;
  Array(std::vector<T> values) : own_(std::move(values)) {}  // NOLINT(google-explicit-constructor)
  Array(std::initializer_list<T> values) : own_(values) {}   // NOLINT(google-explicit-constructor)
  static Array View(std::shared_ptr<const void> owner, const T* data, size_t size) {
    Array array;
    array.owner_ = std::move(owner);
    array.view_ = data;
    array.view_size_ = size;
    return array;
  }

  const T* data() const { return owner_ ? view_ : own_.data(); }
  size_t size() const { return owner_ ? view_size_ : own_.size(); }
  bool empty() const { return size() == 0; }
  const T& operator[](size_t i) const { return data()[i]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size() - 1]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

  // To change it.
  std::vector<T>& own() {
    if (owner_) {
      own_.assign(view_, view_ + view_size_);
      owner_.reset();
    }
    return own_;
  }
  void push_back(const T& value) { own().push_back(value); }

  friend bool operator==(const Array& a, const Array& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  std::vector<T> own_;
  std::shared_ptr<const void> owner_;  // set: a view
  const T* view_ = nullptr;
  size_t view_size_ = 0;
};

}  // namespace ddp

#endif  // DDP_WORKER_DATA_ARRAY_H_
