#include "given.hpp"

#include <map>

using namespace kvedit;
using kvedit::torch::LayerViews;

namespace {

std::int64_t last_byte(const at::TensorBase& view) {
  std::int64_t last = view.storage_offset();
  for (std::int64_t i = 0; i < view.dim(); ++i)
    last += (view.sizes()[static_cast<std::size_t>(i)] - 1) *
            view.strides()[static_cast<std::size_t>(i)];
  return (last + 1) * static_cast<std::int64_t>(view.element_size()) - 1;
}

bool owns(const std::vector<Part>& owned, std::int32_t storage, std::int64_t block,
          std::int64_t byte) {
  for (const Part& part : owned)
    for (const Range& range : part.ranges) {
      const std::int64_t begin = part.base + block * part.block_stride + range.offset;
      if (part.storage == storage && begin <= byte && byte < begin + range.length) return true;
    }
  return false;
}

// Bytes from the start of the storage to the first element of the view's entry for a block, and to
// its last.
std::pair<std::int64_t, std::int64_t> entry(const at::TensorBase& view, std::size_t block_axis,
                                            std::int64_t block) {
  std::int64_t first = view.storage_offset() + block * view.strides()[block_axis];
  std::int64_t last = first;
  for (std::size_t i = 0; i < view.sizes().size(); ++i)
    if (i != block_axis) last += (view.sizes()[i] - 1) * view.strides()[i];
  const auto item = static_cast<std::int64_t>(view.element_size());
  return {first * item, last * item};
}

void check_view(const Given& given, const LayerResult& layer, const View& planned,
                const at::TensorBase& view, const at::TensorBase& tensor) {
  CHECK(view.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl());
  CHECK(view.device() == tensor.device());
  CHECK(view.key_set() == tensor.key_set());
  CHECK(view.scalar_type() ==
        kvedit::torch::scalar_type(*planned.dtype).value_or(at::ScalarType::Byte));
  CHECK(view.sizes().vec() == std::vector(planned.shape.begin(), planned.shape.end()));
  CHECK(view.strides().vec() == std::vector(planned.stride.begin(), planned.stride.end()));
  CHECK(view.storage_offset() == planned.storage_offset);
  CHECK(last_byte(view) < static_cast<std::int64_t>(tensor.storage().nbytes()));

  const std::vector<Part> owned = layer.owned();
  const std::int64_t blocks = layer.pages()->blocks;
  REQUIRE(view.sizes()[planned.block_axis] == blocks);
  auto* data = static_cast<std::byte*>(view.data_ptr());
  const std::span<std::byte> base =
      given.memory.storage(static_cast<std::size_t>(planned.storage));
  const auto item = static_cast<std::int64_t>(view.element_size());
  for (const std::int64_t block : {std::int64_t{0}, blocks / 2, blocks - 1}) {
    const auto [first, last] = entry(view, planned.block_axis, block);
    CHECK(owns(owned, planned.storage, block, first));
    CHECK(owns(owned, planned.storage, block, last));
    for (const std::int64_t byte : {first, last}) {
      data[byte - view.storage_offset() * item] = std::byte{0xA5};
      CHECK(base[static_cast<std::size_t>(byte)] == std::byte{0xA5});
      base[static_cast<std::size_t>(byte)] = std::byte{0};
    }
  }
}

}  // namespace

TEST_CASE("views of every served registration lie where they were planned") {
  const std::vector<std::string> names = served_registrations();
  REQUIRE(names.size() > 40);
  for (const std::string& name : names) {
    INFO(name);
    const Given given(name);
    const Expected<std::vector<LayerViews>> views =
        kvedit::torch::make_views(given.result, given.memory.tensors());
    REQUIRE(views);
    for (const LayerViews& each : *views) {
      INFO(each.layer);
      const LayerResult layer = *given.result.find_layer(each.layer);
      if (layer.outcome() == Outcome::excluded) continue;
      REQUIRE(each.views.size() == layer.view_count());
      const std::vector<at::TensorBase> tensors = given.tensors(each.layer).tensors;
      for (std::size_t i = 0; i < each.views.size(); ++i)
        check_view(given, layer, layer.view(i), each.views[i], tensors[layer.view(i).tensor]);
    }
  }
}

TEST_CASE("an attention view of 17 kernel pages is one entry for each block") {
  const Given given("qwen3.5-0.8b-flashinfer-nhd");
  const Expected<std::vector<LayerViews>> all =
      kvedit::torch::make_views(given.result, given.memory.tensors());
  REQUIRE(all);
  const std::string name = "model.layers.3.self_attn.attn";
  const auto found = std::find_if(all->begin(), all->end(),
                                  [&](const LayerViews& each) { return each.layer == name; });
  REQUIRE(found != all->end());
  REQUIRE(found->views.size() == 1);
  const at::TensorBase& view = found->views.front();
  CHECK(view.scalar_type() == at::ScalarType::BFloat16);
  CHECK(view.sizes().vec() == std::vector<std::int64_t>{64, 2, 544, 1, 512});
  CHECK(view.strides().vec() == std::vector<std::int64_t>{557056, 278528, 512, 512, 1});
  CHECK(view.storage_offset() == 0);
}

TEST_CASE("views by position are those by name") {
  for (const char* name : {"v025-qwen3.5-0.8b-split5", "kv-tuple-two-allocations", "llama-lhbnc",
                           "shared-cache-layer"}) {
    INFO(name);
    const Given given(name);
    const auto by_name = kvedit::torch::make_views(given.result, given.memory.tensors());
    const auto flat = kvedit::torch::make_views(given.result, given.in_result_order());
    REQUIRE(by_name);
    REQUIRE(flat);
    std::size_t next = 0;
    for (const LayerViews& layer : *by_name)
      for (const at::TensorBase& view : layer.views) {
        REQUIRE(next < flat->size());
        const at::TensorBase& other = (*flat)[next++];
        CHECK(view.data_ptr() == other.data_ptr());
        CHECK(view.sizes() == other.sizes());
        CHECK(view.strides() == other.strides());
        CHECK(view.scalar_type() == other.scalar_type());
      }
    CHECK(next == flat->size());
  }
}

TEST_CASE("tensors may be given in any order") {
  const Given given("v025-qwen3.5-0.8b-split5");
  kvedit::torch::TensorsByLayer reversed(given.memory.tensors().rbegin(),
                                         given.memory.tensors().rend());
  const auto straight = kvedit::torch::make_views(given.result, given.memory.tensors());
  const auto views = kvedit::torch::make_views(given.result, reversed);
  REQUIRE(straight);
  REQUIRE(views);
  REQUIRE(views->size() == straight->size());
  for (std::size_t i = 0; i < views->size(); ++i) {
    CHECK((*views)[i].layer == (*straight)[i].layer);
    CHECK((*views)[i].views.front().data_ptr() == (*straight)[i].views.front().data_ptr());
  }
}

TEST_CASE("an excluded layer gets its own tensors back") {
  const Given given("shared-cache-layer");
  const auto views = kvedit::torch::make_views(given.result, given.memory.tensors());
  REQUIRE(views);
  int excluded = 0;
  for (const LayerViews& each : *views) {
    if (given.result.find_layer(each.layer)->outcome() != Outcome::excluded) continue;
    ++excluded;
    const std::vector<at::TensorBase> own = given.tensors(each.layer).tensors;
    REQUIRE(each.views.size() == own.size());
    for (std::size_t i = 0; i < own.size(); ++i) CHECK(each.views[i].is_same(own[i]));
  }
  CHECK(excluded > 0);
}

TEST_CASE("views keep the storage alive") {
  std::vector<at::TensorBase> views;
  {
    const Given given("llama-blnhc");
    views = *kvedit::torch::make_views(given.result, given.in_result_order());
  }
  for (const at::TensorBase& view : views) {
    auto* data = static_cast<unsigned char*>(view.data_ptr());
    data[0] = 7;
    CHECK(data[0] == 7);
  }
}
