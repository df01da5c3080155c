#include <kvedit/result.hpp>

#include "model/content.hpp"
#include "model/edit.hpp"
#include "model/index.hpp"

namespace kvedit {
namespace {

const LayerEntry& entry_of(const Edit& edit, std::size_t index) { return edit.layers[index]; }

const LayerClass* class_of(const Edit& edit, const LayerEntry& entry) {
  return entry.layer_class < 0 ? nullptr
                               : &edit.classes[static_cast<std::size_t>(entry.layer_class)];
}

/// The class of a layer whose views and pages may be shown.
const LayerClass* served_class(const Edit& edit, const LayerEntry& entry) {
  if (!edit.ok || entry.outcome == Outcome::excluded || entry.outcome == Outcome::failed)
    return nullptr;
  return class_of(edit, entry);
}

const TensorPlace& place_of(const Edit& edit, const LayerEntry& entry, std::uint32_t tensor) {
  return edit.registration.index().places_of(entry.cache)[tensor];
}

}  // namespace

std::string_view LayerResult::name() const { return entry_of(*edit_, index_).name; }
std::int32_t LayerResult::group() const { return entry_of(*edit_, index_).group; }
std::int32_t LayerResult::cache() const { return entry_of(*edit_, index_).cache; }
Outcome LayerResult::outcome() const { return entry_of(*edit_, index_).outcome; }
std::string_view LayerResult::reason() const {
  const std::int32_t reason = entry_of(*edit_, index_).reason;
  return reason < 0 ? std::string_view() : edit_->reasons[static_cast<std::size_t>(reason)];
}

std::string_view LayerResult::rule() const {
  const LayerClass* of = class_of(*edit_, entry_of(*edit_, index_));
  return !of || of->rule < 0 ? std::string_view()
                             : edit_->book->infos[static_cast<std::size_t>(of->rule)].id;
}

std::size_t LayerResult::layer_class() const {
  const LayerEntry& entry = entry_of(*edit_, index_);
  // Layers without facts are each a class of their own.
  return entry.layer_class < 0 ? edit_->classes.size() + index_
                               : static_cast<std::size_t>(entry.layer_class);
}

std::size_t LayerResult::view_count() const {
  const LayerClass* of = served_class(*edit_, entry_of(*edit_, index_));
  return of ? of->views.size() : 0;
}

View LayerResult::view(std::size_t index) const {
  const LayerEntry& entry = entry_of(*edit_, index_);
  const ViewShape& shape = edit_->classes[static_cast<std::size_t>(entry.layer_class)].views[index];
  View view;
  view.dtype = &shape.dtype;
  view.shape = shape.shape;
  view.stride = shape.stride;
  const TensorPlace& place = place_of(*edit_, entry, shape.tensor);
  view.storage_offset = (place.begin + shape.offset) / shape.dtype.itemsize;
  view.storage = place.storage;
  view.tensor = shape.tensor;
  view.block_axis = shape.block_axis;
  view.axes = shape.axes;
  return view;
}

std::optional<PageMap> LayerResult::pages() const {
  const LayerEntry& entry = entry_of(*edit_, index_);
  const LayerClass* of = served_class(*edit_, entry);
  if (!of) return std::nullopt;
  PageMap map;
  map.blocks = of->page->blocks;
  map.parts = std::span(edit_->parts).subspan(entry.first_part, of->page->payload.size());
  map.block_bytes = of->page->block_bytes;
  map.kernel_pages = of->page->kernel_pages;
  map.slots = of->slots;
  map.tokens = of->tokens;
  map.opaque = of->opaque;
  map.declared = of->page->declared;
  return map;
}

std::optional<Content> LayerResult::content() const {
  const LayerClass* of = served_class(*edit_, entry_of(*edit_, index_));
  return !of || of->opaque ? std::nullopt : plain_content(of->facts, of->page->boxes);
}

std::string_view LayerResult::opaque_because() const {
  const LayerClass* of = served_class(*edit_, entry_of(*edit_, index_));
  return of ? kvedit::opaque_because(*of) : std::string_view();
}

std::vector<Part> LayerResult::owned() const {
  const LayerEntry& entry = entry_of(*edit_, index_);
  std::vector<Part> parts;
  if (const LayerClass* of = served_class(*edit_, entry))
    for (const PartShape& shape : of->page->owned) parts.push_back(place(*edit_, entry, shape));
  return parts;
}

std::optional<ReadBack> LayerResult::read_back() const {
  if (!served_class(*edit_, entry_of(*edit_, index_)) || index_ >= edit_->read_backs.size())
    return std::nullopt;
  return edit_->read_backs[index_];
}

std::vector<Tried> LayerResult::tried() const {
  std::vector<Tried> asked;
  if (const LayerClass* of = class_of(*edit_, entry_of(*edit_, index_)))
    for (const RuleAsked& each : of->tried)
      asked.push_back({edit_->book->infos[each.rule].id, each.verdict, each.reason});
  return asked;
}

Part place(const Edit& edit, const LayerEntry& entry, const PartShape& shape) {
  const TensorPlace& place = place_of(edit, entry, shape.tensor);
  return {place.storage, place.begin + shape.offset, shape.block_stride, shape.ranges};
}

bool Result::ok() const { return edit_->ok; }
const EditOptions& Result::options() const { return edit_->options; }
const Registration& Result::registration() const { return edit_->registration; }
std::span<const Problem> Result::problems() const { return edit_->problems; }
std::span<const GroupResult> Result::groups() const { return edit_->groups; }
std::optional<std::int64_t> Result::chunk_tokens() const { return edit_->chunk_tokens; }
std::size_t Result::layer_count() const { return edit_->layers.size(); }
LayerResult Result::layer(std::size_t index) const { return {*edit_, index}; }
std::span<const RuleInfo> Result::rules() const { return edit_->book->infos; }

std::optional<LayerResult> Result::find_layer(std::string_view name) const {
  for (std::size_t i = 0; i < edit_->layers.size(); ++i)
    if (edit_->layers[i].name == name) return LayerResult(*edit_, i);
  return std::nullopt;
}

std::vector<std::int64_t> Result::layers_claimed() const {
  std::vector<std::int64_t> claimed(edit_->book->infos.size(), 0);
  for (const LayerClass& each : edit_->classes)
    if (each.rule >= 0) claimed[static_cast<std::size_t>(each.rule)] += each.layers;
  return claimed;
}

}  // namespace kvedit
