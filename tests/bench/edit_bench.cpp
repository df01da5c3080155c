#include <ATen/ops/as_strided.h>
#include <c10/core/ScalarTypeToTypeMeta.h>

#include <map>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "clock.hpp"
#include "registered_memory.hpp"

using kvedit::Error;
using kvedit::Expected;
using kvedit::Result;

namespace {

// What `as_strided` is called with for one view: a tensor of the view's type over the whole storage.
struct Strided {
  at::Tensor whole;
  std::vector<std::int64_t> shape, stride;
  std::int64_t storage_offset;
};

at::Tensor whole_storage(const at::TensorBase& tensor, at::ScalarType type) {
  auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(tensor.storage()),
                                                   c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                   c10::scalarTypeToTypeMeta(type));
  const auto elements = static_cast<std::int64_t>(tensor.storage().nbytes() / made->itemsize());
  made->set_sizes_contiguous({elements});
  return at::Tensor(std::move(made));
}

std::vector<Strided> strided_of(const std::vector<at::TensorBase>& views) {
  std::map<std::pair<const void*, at::ScalarType>, at::Tensor> whole;
  std::vector<Strided> all;
  for (const at::TensorBase& view : views) {
    const std::pair key(view.storage().unsafeGetStorageImpl(), view.scalar_type());
    if (!whole.contains(key)) whole.emplace(key, whole_storage(view, view.scalar_type()));
    all.push_back({whole.at(key), view.sizes().vec(), view.strides().vec(), view.storage_offset()});
  }
  return all;
}

std::vector<at::TensorBase> in_result_order(const Result& result, const RegisteredMemory& memory) {
  std::map<std::string_view, const kvedit::torch::LayerTensors*> by_name;
  for (const auto& each : memory.tensors()) by_name.emplace(each.layer, &each);
  std::vector<at::TensorBase> tensors;
  for (std::size_t i = 0; i < result.layer_count(); ++i) {
    const auto found = by_name.find(result.layer(i).name());
    if (found == by_name.end()) continue;
    tensors.insert(tensors.end(), found->second->tensors.begin(), found->second->tensors.end());
  }
  return tensors;
}

std::optional<Error> check_same(const std::vector<at::TensorBase>& views,
                                const std::vector<Strided>& strided) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const at::Tensor bare = at::as_strided(strided[i].whole, strided[i].shape, strided[i].stride,
                                           strided[i].storage_offset);
    if (bare.sizes() != views[i].sizes() || bare.strides() != views[i].strides() ||
        bare.data_ptr() != views[i].data_ptr() || bare.scalar_type() != views[i].scalar_type())
      return Error{"view " + std::to_string(i), "as_strided gives another view"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> bench_edit(const kvedit::Host& host, const kvedit::Registration& registration,
                                int rounds) {
  const Result known = host.edit(registration);
  if (!known.ok()) return Error{"", kvedit::explain(known)};
  const Expected<RegisteredMemory> memory = RegisteredMemory::reserve(registration);
  if (!memory) return memory.error();
  const std::vector<at::TensorBase> tensors = in_result_order(known, *memory);
  const Expected<std::vector<at::TensorBase>> views = kvedit::torch::make_views(known, tensors);
  if (!views) return views.error();
  const std::vector<Strided> strided = strided_of(*views);
  if (auto wrong = check_same(*views, strided)) return wrong;

  std::vector<at::Tensor> bare;
  bare.reserve(strided.size());
  std::optional<Result> result;
  std::optional<Expected<std::vector<at::TensorBase>>> made;
  std::optional<Expected<std::vector<kvedit::torch::LayerViews>>> named;
  const auto clear = [&] {
    bare.clear();
    result.reset();
    made.reset();
    named.reset();
  };
  std::vector<Contender> contenders = {
      {"bare as_strided",
       [&] {
         for (const Strided& each : strided)
           bare.push_back(at::as_strided(each.whole, each.shape, each.stride, each.storage_offset));
       },
       clear},
      {"edit", [&] { result.emplace(host.edit(registration)); }, clear},
      {"edit + make_views",
       [&] {
         result.emplace(host.edit(registration));
         made.emplace(kvedit::torch::make_views(*result, tensors));
       },
       clear},
      {"edit + make_views by name",
       [&] {
         result.emplace(host.edit(registration));
         named.emplace(kvedit::torch::make_views(*result, memory->tensors()));
       },
       clear},
      {"make_views alone", [&] { made.emplace(kvedit::torch::make_views(known, tensors)); }, clear},
  };
  race(contenders, rounds);

  const double loop = contenders[0].median();
  const std::string of = "of a bare as_strided loop over the same " +
                         std::to_string(strided.size()) + " views";
  print_ratio(contenders[1].name, contenders[1].median() / loop, of + ", at most 0.5");
  for (std::size_t i = 2; i < 4; ++i)
    print_ratio(contenders[i].name, contenders[i].median() / loop, of + ", at most 1.3");
  print_ratio(contenders[4].name, contenders[4].median() / loop, of);
  return std::nullopt;
}
