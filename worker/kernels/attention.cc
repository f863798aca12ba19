#include "worker/kernels/attention.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/kernels/attention.cc"
#include <hwy/foreach_target.h>
// Per target, after foreach_target.h.
#include "worker/kernels/fate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ddp::HWY_NAMESPACE {

// Rows of a matrix in the workspace: queries or keys. Columns: tokens, or the numbers of a head.
constexpr size_t kRows = kLongestShortText;
constexpr size_t kColumns = kWidestHead;

// What the work on one head of one text needs, zeroed at first, so that what lies beyond the text is finite.
struct Workspace {
  HWY_ALIGN float q[kRows * kColumns];  // scaled
  HWY_ALIGN float k[kRows * kColumns];
  HWY_ALIGN float v[kRows * kColumns];
  HWY_ALIGN float transposed[kColumns * kRows];
  HWY_ALIGN float p[kRows * kRows];        // softmax
  HWY_ALIGN float dropped[kRows * kRows];  // after dropout
  HWY_ALIGN float factors[kRows * kRows];  // of dropout
  HWY_ALIGN float out[kRows * kColumns];
  HWY_ALIGN float gradient[kRows * kColumns];  // of out
  HWY_ALIGN float dp[kRows * kRows];
};

HWY_INLINE size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// c[i][j] = sum over k of a[i * a_row + k * a_step] b[k][j], for i < rows, j < columns (a multiple of 16), k < depth.
// Computes four rows at once: c and a have room for rows rounded up to four.
HWY_INLINE void Product(const float* a, size_t a_row, size_t a_step, const float* b, size_t b_row, float* c,
                        size_t c_row, size_t rows, size_t depth, size_t columns) {
  const Floats floats;
  const size_t lanes = Lanes();
  for (size_t i = 0; i < rows; i += 4) {
    const float* a0 = a + i * a_row;
    const float* a1 = a0 + a_row;
    const float* a2 = a1 + a_row;
    const float* a3 = a2 + a_row;
    size_t j = 0;
    for (; j + 2 * lanes <= columns; j += 2 * lanes) {
      Vec s0 = hn::Zero(floats), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
      for (size_t k = 0; k < depth; ++k) {
        const Vec x = hn::LoadU(floats, b + k * b_row + j);
        const Vec y = hn::LoadU(floats, b + k * b_row + j + lanes);
        const Vec f0 = hn::Set(floats, a0[k * a_step]);
        const Vec f1 = hn::Set(floats, a1[k * a_step]);
        const Vec f2 = hn::Set(floats, a2[k * a_step]);
        const Vec f3 = hn::Set(floats, a3[k * a_step]);
        s0 = hn::MulAdd(f0, x, s0);
        t0 = hn::MulAdd(f0, y, t0);
        s1 = hn::MulAdd(f1, x, s1);
        t1 = hn::MulAdd(f1, y, t1);
        s2 = hn::MulAdd(f2, x, s2);
        t2 = hn::MulAdd(f2, y, t2);
        s3 = hn::MulAdd(f3, x, s3);
        t3 = hn::MulAdd(f3, y, t3);
      }
      float* to = c + i * c_row + j;
      hn::StoreU(s0, floats, to);
      hn::StoreU(t0, floats, to + lanes);
      hn::StoreU(s1, floats, to + c_row);
      hn::StoreU(t1, floats, to + c_row + lanes);
      hn::StoreU(s2, floats, to + 2 * c_row);
      hn::StoreU(t2, floats, to + 2 * c_row + lanes);
      hn::StoreU(s3, floats, to + 3 * c_row);
      hn::StoreU(t3, floats, to + 3 * c_row + lanes);
    }
    for (; j < columns; j += lanes) {
      Vec s0 = hn::Zero(floats), s1 = s0, s2 = s0, s3 = s0;
      for (size_t k = 0; k < depth; ++k) {
        const Vec x = hn::LoadU(floats, b + k * b_row + j);
        s0 = hn::MulAdd(hn::Set(floats, a0[k * a_step]), x, s0);
        s1 = hn::MulAdd(hn::Set(floats, a1[k * a_step]), x, s1);
        s2 = hn::MulAdd(hn::Set(floats, a2[k * a_step]), x, s2);
        s3 = hn::MulAdd(hn::Set(floats, a3[k * a_step]), x, s3);
      }
      float* to = c + i * c_row + j;
      hn::StoreU(s0, floats, to);
      hn::StoreU(s1, floats, to + c_row);
      hn::StoreU(s2, floats, to + 2 * c_row);
      hn::StoreU(s3, floats, to + 3 * c_row);
    }
  }
}

// One head of one text, in and out of the workspace.
template <typename X>
class Head {
 public:
  Head(Workspace& w, const AttentionShape& shape, size_t text, size_t head, size_t len)
      : w_(w),
        dim_(shape.head_dim),
        width_(shape.heads * shape.head_dim),
        len_(len),
        keys_(RoundUp(len, 16)),
        first_(text * shape.len * width_ + head * dim_),
        first_qkv_(text * shape.len * 3 * width_ + head * dim_),
        fate_index_(static_cast<uint32_t>((text * shape.heads + head) * shape.len * kRows)) {}

  void ReadQkv(const X* qkv) {
    const float scale = 1 / std::sqrt(static_cast<float>(dim_));
    Read(qkv + first_qkv_, 3 * width_, scale, w_.q);
    Read(qkv + first_qkv_ + width_, 3 * width_, 1, w_.k);
    Read(qkv + first_qkv_ + 2 * width_, 3 * width_, 1, w_.v);
  }

  // p, factors and dropped out of q and k.
  void Weigh(const Fate& fate) {
    const Floats floats;
    Transpose(w_.k);
    Product(w_.q, kColumns, 1, w_.transposed, kRows, w_.p, kRows, len_, dim_, keys_);
    const Vec nothing = hn::Set(floats, -std::numeric_limits<float>::infinity());
    const Vec end = hn::Set(floats, static_cast<float>(len_));
    for (size_t i = 0; i < len_; ++i) {
      float* row = w_.p + i * kRows;
      Vec largest = nothing;
      for (size_t j = 0; j < keys_; j += Lanes()) {
        const auto real = hn::Lt(hn::Iota(floats, static_cast<float>(j)), end);
        const Vec score = hn::IfThenElse(real, hn::LoadU(floats, row + j), nothing);
        hn::StoreU(score, floats, row + j);
        largest = hn::Max(largest, score);
      }
      const Vec top = hn::MaxOfLanes(floats, largest);
      Vec sum = hn::Zero(floats);
      for (size_t j = 0; j < keys_; j += Lanes()) {
        const auto real = hn::Lt(hn::Iota(floats, static_cast<float>(j)), end);
        const Vec e = hn::IfThenElseZero(real, Exp(hn::Sub(hn::LoadU(floats, row + j), top)));
        hn::StoreU(e, floats, row + j);
        sum = hn::Add(sum, e);
      }
      const Vec inverse = hn::Div(hn::Set(floats, 1), hn::SumOfLanes(floats, sum));
      for (size_t j = 0; j < keys_; j += Lanes()) {
        const Vec share = hn::Mul(hn::LoadU(floats, row + j), inverse);
        const Vec factor = Factors(fate, fate_index_ + static_cast<uint32_t>(i * kRows + j));
        hn::StoreU(share, floats, row + j);
        hn::StoreU(factor, floats, w_.factors + i * kRows + j);
        hn::StoreU(hn::Mul(share, factor), floats, w_.dropped + i * kRows + j);
      }
    }
  }

  void Mix(X* out) {
    Product(w_.dropped, kRows, 1, w_.v, kColumns, w_.out, kColumns, len_, len_, dim_);
    Write(w_.out, 1, out + first_, width_);
  }

  void Backward(const X* out_gradient, X* qkv_gradient) {
    const Floats floats;
    Read(out_gradient + first_, width_, 1, w_.gradient);
    // dV = dropped^T dO
    Product(w_.dropped, 1, kRows, w_.gradient, kColumns, w_.out, kColumns, len_, len_, dim_);
    Write(w_.out, 1, qkv_gradient + first_qkv_ + 2 * width_, 3 * width_);
    // dP = (dO V^T) * factors; dS = P * (dP - sum of P * dP)
    Transpose(w_.v);
    Product(w_.gradient, kColumns, 1, w_.transposed, kRows, w_.dp, kRows, len_, dim_, keys_);
    for (size_t i = 0; i < len_; ++i) {
      Vec sum = hn::Zero(floats);
      for (size_t j = i * kRows; j < i * kRows + keys_; j += Lanes()) {
        const Vec dp = hn::Mul(hn::LoadU(floats, w_.dp + j), hn::LoadU(floats, w_.factors + j));
        hn::StoreU(dp, floats, w_.dp + j);
        sum = hn::MulAdd(dp, hn::LoadU(floats, w_.p + j), sum);
      }
      const Vec mean = hn::SumOfLanes(floats, sum);
      for (size_t j = i * kRows; j < i * kRows + keys_; j += Lanes()) {
        const Vec ds = hn::Mul(hn::LoadU(floats, w_.p + j), hn::Sub(hn::LoadU(floats, w_.dp + j), mean));
        hn::StoreU(ds, floats, w_.dp + j);
      }
    }
    // dQ = dS K / sqrt(dim); dK = dS^T Q, whose q has that factor already
    Product(w_.dp, kRows, 1, w_.k, kColumns, w_.out, kColumns, len_, len_, dim_);
    Write(w_.out, 1 / std::sqrt(static_cast<float>(dim_)), qkv_gradient + first_qkv_, 3 * width_);
    Product(w_.dp, 1, kRows, w_.q, kColumns, w_.out, kColumns, len_, len_, dim_);
    Write(w_.out, 1, qkv_gradient + first_qkv_ + width_, 3 * width_);
  }

 private:
  void Read(const X* from, size_t row, float scale, float* to) const {
    const Vec factor = hn::Set(Floats(), scale);
    for (size_t i = 0; i < len_; ++i) {
      for (size_t c = 0; c < dim_; c += Lanes()) {
        StoreFloats(hn::Mul(LoadFloats(from + i * row + c), factor), to + i * kColumns + c);
      }
    }
  }

  void Write(const float* from, float scale, X* to, size_t row) const {
    const Vec factor = hn::Set(Floats(), scale);
    for (size_t i = 0; i < len_; ++i) {
      for (size_t c = 0; c < dim_; c += Lanes()) {
        StoreFloats(hn::Mul(LoadFloats(from + i * kColumns + c), factor), to + i * row + c);
      }
    }
  }

  // Columns of keys beyond the text keep what an earlier head left there: finite, and masked or without weight.
  void Transpose(const float* from) {
    for (size_t i = 0; i < len_; ++i) {
      for (size_t c = 0; c < dim_; ++c) w_.transposed[c * kRows + i] = from[i * kColumns + c];
    }
  }

  Workspace& w_;
  size_t dim_;
  size_t width_;
  size_t len_;
  size_t keys_;
  size_t first_;
  size_t first_qkv_;
  uint32_t fate_index_;
};

hwy::AlignedUniquePtr<Workspace> NewWorkspace() {
  auto w = hwy::MakeUniqueAligned<Workspace>();
  std::fill_n(reinterpret_cast<float*>(w.get()), sizeof(Workspace) / sizeof(float), 0.0F);
  return w;
}

size_t LengthOf(const int64_t* lengths, const AttentionShape& shape, size_t text) {
  return lengths == nullptr ? shape.len : static_cast<size_t>(lengths[text]);
}

// body(head) for each head of the texts, and zeros into what out has for the padding; out: `width` numbers of each
// token.
template <typename X, typename Body>
HWY_INLINE void ForHeads(const int64_t* lengths, const AttentionShape& shape, size_t begin, size_t end, size_t width,
                         X* out, const Body& body) {
  const auto w = NewWorkspace();
  for (size_t t = begin; t < end; ++t) {
    const size_t len = LengthOf(lengths, shape, t);
    for (size_t h = 0; h < shape.heads; ++h) body(Head<X>(*w, shape, t, h, len));
    std::fill(out + (t * shape.len + len) * width, out + (t + 1) * shape.len * width, X{});
  }
}

template <typename X>
void Attend(const X* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
            size_t end, X* out) {
  ForHeads(lengths, shape, begin, end, shape.heads * shape.head_dim, out, [&](Head<X> head) HWY_ATTR {
    head.ReadQkv(qkv);
    head.Weigh(fate);
    head.Mix(out);
  });
}

template <typename X>
void AttendBackward(const X* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
                    size_t end, const X* out_gradient, X* qkv_gradient) {
  const size_t width = 3 * shape.heads * shape.head_dim;
  ForHeads(lengths, shape, begin, end, width, qkv_gradient, [&](Head<X> head) HWY_ATTR {
    head.ReadQkv(qkv);
    head.Weigh(fate);
    head.Backward(out_gradient, qkv_gradient);
  });
}

// One name per type: Highway chooses by name.
void AttendF(const float* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
             size_t end, float* out) {
  Attend(qkv, lengths, shape, fate, begin, end, out);
}
void AttendB(const Bf16* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
             size_t end, Bf16* out) {
  Attend(qkv, lengths, shape, fate, begin, end, out);
}
void AttendBackwardF(const float* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate,
                     size_t begin, size_t end, const float* out_gradient, float* qkv_gradient) {
  AttendBackward(qkv, lengths, shape, fate, begin, end, out_gradient, qkv_gradient);
}
void AttendBackwardB(const Bf16* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate,
                     size_t begin, size_t end, const Bf16* out_gradient, Bf16* qkv_gradient) {
  AttendBackward(qkv, lengths, shape, fate, begin, end, out_gradient, qkv_gradient);
}

}  // namespace ddp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ddp {

HWY_EXPORT(AttendF);
HWY_EXPORT(AttendB);
HWY_EXPORT(AttendBackwardF);
HWY_EXPORT(AttendBackwardB);

void AttendShort(const float* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
                 size_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(AttendF)(qkv, lengths, shape, fate, begin, end, out);
}
void AttendShort(const Bf16* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
                 size_t end, Bf16* out) {
  HWY_DYNAMIC_DISPATCH(AttendB)(qkv, lengths, shape, fate, begin, end, out);
}
void AttendShortBackward(const float* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate,
                         size_t begin, size_t end, const float* out_gradient, float* qkv_gradient) {
  HWY_DYNAMIC_DISPATCH(AttendBackwardF)(qkv, lengths, shape, fate, begin, end, out_gradient, qkv_gradient);
}
void AttendShortBackward(const Bf16* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate,
                         size_t begin, size_t end, const Bf16* out_gradient, Bf16* qkv_gradient) {
  HWY_DYNAMIC_DISPATCH(AttendBackwardB)(qkv, lengths, shape, fate, begin, end, out_gradient, qkv_gradient);
}

}  // namespace ddp
#endif  // HWY_ONCE
