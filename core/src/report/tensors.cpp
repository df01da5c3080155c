#include "report/tensors.hpp"

#include "base/text.hpp"
#include "report/paint.hpp"

namespace kvedit::report {

bool held_back(const Result& result, const LayerResult& layer) {
  return !result.ok() && layer.outcome() != Outcome::failed && layer.outcome() != Outcome::excluded;
}

const Spec* spec_of(const Result& result, const LayerResult& layer) {
  if (layer.group() < 0) return nullptr;
  const Group& group = result.registration().data().groups[static_cast<std::size_t>(layer.group())];
  const auto leaf = group.layer_specs.find(std::string(layer.name()));
  return leaf == group.layer_specs.end() ? &group.spec : &leaf->second;
}

const Cache* cache_of(const Result& result, const LayerResult& layer) {
  for (const Cache& cache : result.registration().data().caches)
    if (cache.layer == layer.name()) return &cache;
  return nullptr;
}

std::string registered(const Result& result, const LayerResult& layer, std::string_view between) {
  const Cache* cache = cache_of(result, layer);
  if (!cache) return "nothing registered";
  std::string all;
  for (const Tensor& tensor : cache->tensors)
    all += text(all.empty() ? "" : between, list(tensor.shape), " strides ", list(tensor.stride),
                " ", Painter::clean(tensor.dtype.name));
  return all;
}

std::string views(const LayerResult& layer, std::string_view between) {
  std::string all;
  for (std::size_t v = 0; v < layer.view_count(); ++v) {
    const View view = layer.view(v);
    all += text(all.empty() ? "" : between, list(view.shape), " strides ", list(view.stride), " ",
                Painter::clean(view.dtype->name));
    if (view.block_axis != 0) all += text(", blocks on axis ", view.block_axis);
  }
  return all;
}

namespace {

std::string_view why_opaque(std::string_view because) {
  if (because == "recurrent") return "opaque: states";
  if (because == "backend") return "opaque: the attention backend has an order of its own";
  if (because == "kernel-pages") return "opaque: kernel pages behind synthetic axes";
  if (because == "axes") return "opaque: axes that the spec does not explain";
  return "opaque: content that the spec does not explain";
}

std::string meaning(const LayerResult& layer) {
  const auto content = layer.content();
  if (!content) return std::string(why_opaque(layer.opaque_because()));
  const std::string key = counted(content->key_elements, "element", "elements");
  switch (content->form) {
    case Content::Form::kv_axis:
      return text("readable: K and V of ", key, " along axis kv");
    case Content::Form::kv_tensors:
      return text("readable: K of ", key, " in the first tensor, V of ", content->value_elements,
                  " in the second");
    case Content::Form::key:
      return text("readable: K of ", key, " as content");
    case Content::Form::latent:
      return text("readable: a latent of ", key, " as content");
    case Content::Form::k_beside_v:
      break;
  }
  return text("readable: K of ", key, ", then V of ", content->value_elements, " as content");
}

}  // namespace

std::string page_facts(const Result& result, const LayerResult& layer, const PageMap& pages) {
  std::string facts =
      text(counted(pages.kernel_pages, "kernel page", "kernel pages"), ", ",
           counted(pages.slots, "slot", "slots"), ", ", pages.block_bytes, " bytes a block");
  const Spec* spec = spec_of(result, layer);
  const std::int64_t left_out = spec ? spec->page_size_bytes - pages.block_bytes : 0;
  if (left_out > 0)
    facts += text(" (", left_out, " of ", spec->page_size_bytes, " left out as padding)");
  facts += ", " + meaning(layer);
  facts += pages.declared ? ", order declared by the rule" : ", order proved";
  return facts;
}

std::string read_back(const LayerResult& layer) {
  const auto read = layer.read_back();
  if (!read) return "";
  return text("LMCache reads ", read->format, ": ", counted(read->slots, "slot", "slots"), " of ",
              counted(read->heads, "head", "heads"), ", ",
              read->planes > 1 ? "K and V apart, " : "", read->block_bytes,
              " bytes a block, a block every ", read->block_stride);
}

}  // namespace kvedit::report
