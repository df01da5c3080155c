#include "prove/sane.hpp"

#include "base/text.hpp"

namespace kvedit::prove {
namespace {

constexpr std::int64_t far = std::int64_t{1} << 61;

Failure bad(std::string message, std::vector<Fact> facts = {}) {
  return {Code::bad_geometry, std::move(message), std::move(facts)};
}

std::optional<Failure> positive(std::string_view field, std::int64_t value) {
  if (value > 0) return std::nullopt;
  return bad(text(field, " is ", value, "; it must be positive: give what the engine allocated"),
             {{std::string(field), value}});
}

/// Content fits its page, and fills it unless padding is declared.
std::optional<Failure> fits_page(std::string_view field, std::int64_t value, const Spec& spec) {
  const std::int64_t page = spec.page_size_bytes;
  if (value > 0 && (value == page || (value < page && spec.page_size_padded))) return std::nullopt;
  return bad(text("the spec contradicts itself: ", field, " is ", value,
                  " bytes in a page of page_size_bytes ", page,
                  value < page ? " and no page_size_padded declares padding" : "",
                  "; the engine's spec and its page size do not belong together"),
             {{std::string(field), value}, {"page_size_bytes", page}});
}

/// States of a block are whole: its tokens over the tokens of a state. A spec that gives all three
/// numbers gives them so; else slots or tokens of a block would be wrong.
std::optional<Failure> sane_states(const Spec& spec) {
  if (spec.recurrent() || !spec.num_states || !spec.attribute("tokens_per_state") ||
      !spec.tokens_per_state || spec.tokens_per_state->numerator <= 0)
    return std::nullopt;
  const Ratio ratio = *spec.tokens_per_state;
  const Int128 states = Int128{spec.block_size} * ratio.denominator / ratio.numerator;
  if (states == *spec.num_states) return std::nullopt;
  return bad(
      text("the spec contradicts itself: block_size ", spec.block_size, " at ", ratio.numerator,
           ratio.denominator == 1 ? "" : text("/", ratio.denominator), " tokens_per_state gives ",
           states, " states and num_states is ", *spec.num_states),
      {{"block_size", spec.block_size}, {"num_states", *spec.num_states}});
}

std::optional<Failure> sane_spec(const Spec& spec) {
  if (auto failure = positive("block_size", spec.block_size)) return failure;
  if (auto failure = positive("page_size_bytes", spec.page_size_bytes)) return failure;
  if (auto failure = sane_states(spec)) return failure;
  const std::int64_t page = spec.page_size_bytes;
  if (spec.page_size_padded && *spec.page_size_padded != page)
    return bad(text("the spec contradicts itself: page_size_padded is ", *spec.page_size_padded,
                    " and page_size_bytes is ", page, "; both are the padded page"),
               {{"page_size_padded", *spec.page_size_padded}, {"page_size_bytes", page}});
  if (spec.unpadded_page_size_bytes)
    if (auto failure = fits_page("unpadded_page_size_bytes", *spec.unpadded_page_size_bytes, spec))
      return failure;
  if (spec.state_bytes) {
    if (*spec.state_bytes < 0)
      return bad(
          "the spec contradicts itself: shapes and dtypes do not give the states' bytes; "
          "each shape needs a dtype and positive dimensions");
    return fits_page("the states by shapes and dtypes", *spec.state_bytes, spec);
  }
  return std::nullopt;
}

/// Adds up `item + Σ (extent − 1)·stride` and the product of extents, checked.
struct Measure {
  std::int64_t span;
  std::int64_t bytes;
  bool overflow = false;

  explicit Measure(std::int64_t item) : span(item), bytes(item) {}

  void axis(std::int64_t extent, std::int64_t stride) {
    std::int64_t reach = 0;
    overflow = overflow || __builtin_mul_overflow(extent - 1, stride, &reach) ||
               __builtin_add_overflow(span, reach, &span) ||
               __builtin_mul_overflow(bytes, extent, &bytes);
  }
  bool fits() const { return !overflow && span < far && bytes < far; }
};

std::optional<Failure> sane_axes(const Tensor& tensor, const std::string& which) {
  for (std::size_t a = 0; a < tensor.shape.size(); ++a) {
    if (tensor.shape[a] <= 0)
      return bad(text(which, ": axis ", a, " has extent ", tensor.shape[a],
                      "; it must be positive: give what the engine allocated"),
                 {{"axis", static_cast<std::int64_t>(a)}, {"extent", tensor.shape[a]}});
    if (tensor.stride[a] <= 0)
      return bad(text(which, ": axis ", a, " has stride ", tensor.stride[a],
                      "; it must be positive: give what the engine allocated"),
                 {{"axis", static_cast<std::int64_t>(a)}, {"stride", tensor.stride[a]}});
  }
  return std::nullopt;
}

std::optional<Failure> sane_tensor(const Tensor& tensor, std::size_t number) {
  const std::string which = text("tensor ", number);
  const std::size_t rank = tensor.shape.size();
  if (rank != tensor.stride.size())
    return bad(text(which, ": shape has ", rank, " axes and stride ", tensor.stride.size(),
                    "; capture both from one tensor"),
               {{"shape_axes", static_cast<std::int64_t>(rank)},
                {"stride_axes", static_cast<std::int64_t>(tensor.stride.size())}});
  if (rank == 0 || rank > max_axes - 1)
    return bad(text(which, " has ", rank, " axes; 1 to ", max_axes - 1,
                    " can be read: register a view that merges some"),
               {{"rank", static_cast<std::int64_t>(rank)}});
  if (auto failure = sane_axes(tensor, which)) return failure;
  Measure measure(tensor.dtype.itemsize);
  for (std::size_t a = 0; a < rank; ++a) {
    std::int64_t stride = 0;
    measure.overflow |= __builtin_mul_overflow(
        tensor.stride[a], static_cast<std::int64_t>(tensor.dtype.itemsize), &stride);
    measure.overflow |= stride > far;  // also of an axis that is never stepped along
    if (!measure.overflow) measure.axis(tensor.shape[a], stride);
  }
  if (!measure.fits())
    return bad(text(
        which,
        ": shape and stride reach beyond 2^61 bytes, and no storage is that large; check both"));
  return std::nullopt;
}

}  // namespace

std::optional<Failure> sane(const LayerFacts& facts) {
  if (auto failure = positive("num_blocks", facts.num_blocks)) return failure;
  if (auto failure = sane_spec(*facts.spec)) return failure;
  return sane_tensors(facts.tensors);
}

std::optional<Failure> sane_tensors(std::span<const Tensor> tensors) {
  if (tensors.empty() || tensors.size() > 16)
    return bad(text("registered as ", tensors.size(),
                    " tensors; 1 to 16 can be read: register those that hold pages, or exclude its "
                    "group (enable_kv_transfer false)"),
               {{"tensors", static_cast<std::int64_t>(tensors.size())}});
  for (std::size_t t = 0; t < tensors.size(); ++t)
    if (auto failure = sane_tensor(tensors[t], t)) return failure;
  return std::nullopt;
}

std::optional<Failure> sane(const Box& box) {
  Measure measure(box.item_bytes);
  for (const Axis& axis : box.axes) {
    if (axis.extent <= 0 || axis.stride <= 0)
      return Failure{Code::outside_page,
                     text("its plan has an axis of extent ", axis.extent, " and stride ",
                          axis.stride, " bytes; both must be positive: correct the rule"),
                     {{"extent", axis.extent}, {"stride", axis.stride}}};
    measure.overflow |= axis.stride > far;
    measure.axis(axis.extent, axis.stride);
  }
  if (!measure.fits() || box.offset < -far || box.offset > far)
    return Failure{
        Code::outside_page, "its plan reaches beyond 2^61 bytes; correct the rule's strides", {}};
  return std::nullopt;
}

std::int64_t span_of(const Tensor& tensor) {
  const std::int64_t item = tensor.dtype.itemsize;
  std::int64_t span = item;
  for (std::size_t a = 0; a < tensor.shape.size(); ++a)
    span += (tensor.shape[a] - 1) * tensor.stride[a] * item;
  return span;
}

}  // namespace kvedit::prove
