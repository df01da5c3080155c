#include "json/registration_reader.hpp"

#include <algorithm>
#include <array>
#include <new>

#include <kvedit/json.hpp>

#include "json/parse.hpp"

namespace kvedit {
namespace {

using Type = Item::Type;

constexpr std::string_view schema = "kvedit.registration/1";
constexpr std::string_view wrapper = "UniformTypeKVCacheSpecs";
constexpr std::array<std::string_view, 8> layouts = {"LBHNC", "LBNHC", "LHBNC", "BLHNC",
                                                     "BLNHC", "BHLNC", "HND",   "NHD"};

}  // namespace

Expected<RegistrationData> RegistrationReader::read_document(const Item& root) {
  RegistrationData data;
  read(root, data);
  if (failure_) return *failure_;
  return data;
}

void RegistrationReader::read(const Item& item, RegistrationData& out) {
  if (!expect(item, Type::object, "an object")) return;
  std::string found;
  required(item, "schema", found);
  if (ok() && found != schema)
    fail("/schema",
         excerpt(found) + " is not a schema this version reads; it reads " + excerpt(schema));
  read_engine(item, out);
  optional(item, "model", out.model);
  read_layout(item, out);
  required(item, "num_blocks", out.num_blocks);
  optional(item, "parallel", out.parallel);
  required(item, "groups", out.groups);
  optional(item, "placements", out.placements);
  required(item, "storages", out.storages);
  optional(item, "backends", out.backends);
  required(item, "caches", out.caches);
}

void RegistrationReader::read_engine(const Item& root, RegistrationData& out) {
  const auto engine = root.find("engine");
  if (!ok() || !engine || engine->type() == Type::null) return;
  if (!expect(*engine, Type::object, "an object")) return;
  optional(*engine, "name", out.engine_name);
  optional(*engine, "version", out.engine_version);
}

void RegistrationReader::read_layout(const Item& root, RegistrationData& out) {
  const auto layout = root.find("layout");
  optional(root, "layout", out.layout);
  if (!ok() || !layout || layout->type() == Type::null) return;
  if (std::find(layouts.begin(), layouts.end(), out.layout) != layouts.end()) return;
  std::string names;
  for (const std::string_view name : layouts)
    names += (names.empty() ? "" : ", ") + std::string(name);
  fail("/layout", excerpt(out.layout) + " is no known layout; known are " + names);
}

void RegistrationReader::read(const Item& item, Parallel& out) {
  if (!expect(item, Type::object, "an object")) return;
  optional(item, "tp", out.tp);
  optional(item, "pp", out.pp);
  optional(item, "dcp", out.dcp);
  optional(item, "pcp", out.pcp);
  optional(item, "cp_interleave", out.cp_interleave);
}

void RegistrationReader::read(const Item& item, Group& out) {
  if (!expect(item, Type::object, "an object")) return;
  required(item, "layers", out.layers);
  required(item, "spec", out.spec);
  optional(item, "layer_specs", out.layer_specs);
  optional(item, "enable_kv_transfer", out.enable_kv_transfer);
  optional(item, "host_resident", out.host_resident);
  optional(item, "is_eagle_group", out.is_eagle_group);
  optional(item, "role", out.role);
  optional(item, "num_blocks", out.num_blocks);
  if (ok()) check_leaves(item, out);
}

/// A wrapper's page is the sum over its leaves: taken for one layer's it would be wrong.
void RegistrationReader::check_leaves(const Item& item, const Group& group) {
  const std::vector<std::string>& bases = group.spec.bases;
  if (group.spec.type != wrapper && std::find(bases.begin(), bases.end(), wrapper) == bases.end())
    return;
  for (const std::string& layer : group.layers) {
    if (group.layer_specs.contains(layer)) continue;
    return fail(item.pointer() + "/layer_specs" + pointer_token(layer),
                "missing; a group of " + std::string(wrapper) + " gives the spec of each layer");
  }
}

void RegistrationReader::read(const Item& item, Placement& out) {
  if (!expect(item, Type::object, "an object")) return;
  required(item, "storage", out.storage);
  required(item, "layers", out.layers);
  required(item, "offset", out.offset);
  required(item, "layer_stride", out.layer_stride);
  required(item, "block_stride", out.block_stride);
}

void RegistrationReader::read(const Item& item, std::vector<Storage>& out) {
  if (!expect(item, Type::object, "an object")) return;
  out.reserve(item.size());
  item.each_member([&](std::string_view key, const Item& each) {
    if (!expect(each, Type::object, "an object with nbytes and device")) return false;
    Storage& storage = out.emplace_back();
    storage.name = key;
    required(each, "nbytes", storage.nbytes);
    optional(each, "device", storage.device);
    return ok();
  });
}

void RegistrationReader::read(const Item& item, std::vector<Cache>& out) {
  if (!expect(item, Type::object, "an object")) return;
  out.reserve(item.size());
  item.each_member([&](std::string_view key, const Item& each) {
    Cache& cache = out.emplace_back();
    cache.layer = key;
    cache.is_list = each.type() == Type::array;
    if (cache.is_list)
      read(each, cache.tensors);
    else if (expect(each, Type::object, "a tensor or an array of tensors"))
      read(each, cache.tensors.emplace_back());
    return ok();
  });
}

Expected<Registration> read_registration(std::string_view text, const ReadLimits& limits) {
  try {
    const auto document = parse_json(text, limits);
    if (!document) return document.error();
    auto data = RegistrationReader().read_document(document->root());
    if (!data) return data.error();
    return Registration(std::move(*data));
  } catch (const std::bad_alloc&) {
    return Error{"", "not enough memory to read " + std::to_string(text.size()) + " bytes of JSON"};
  }
}

}  // namespace kvedit
