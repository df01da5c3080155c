#include <kvedit/json.hpp>

#include "json/text_writer.hpp"

namespace kvedit {
namespace {

using Layout = TextWriter::Layout;

void write(TextWriter& out, const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return out.null();
    case Value::Kind::boolean:
      return out.value(value.integer != 0);
    case Value::Kind::integer:
      return out.value(value.integer);
    case Value::Kind::real:
      return out.value(value.real);
    case Value::Kind::text:
      return out.value(value.text);
    case Value::Kind::json:
      return out.raw(value.text);
    case Value::Kind::list:
      break;
  }
  out.open_array();
  for (const Value& item : value.items) write(out, item);
  out.close();
}

void write(TextWriter& out, const Spec& spec) {
  out.open_object();
  if (!spec.attribute("type")) out.member("type", spec.type);
  if (!spec.attribute("bases")) out.list("bases", spec.bases);
  for (const Attribute& attribute : spec.attributes) {
    out.key(attribute.name);
    write(out, attribute.value);
  }
  out.close();
}

void write(TextWriter& out, const Group& group) {
  out.open_object();
  out.list("layers", group.layers);
  out.key("spec");
  write(out, group.spec);
  if (!group.layer_specs.empty()) {
    out.key("layer_specs");
    out.open_object();
    for (const auto& [layer, spec] : group.layer_specs) {
      out.key(layer);
      write(out, spec);
    }
    out.close();
  }
  out.member("enable_kv_transfer", group.enable_kv_transfer);
  out.member("host_resident", group.host_resident);
  out.member("is_eagle_group", group.is_eagle_group);
  if (!group.role.empty()) out.member("role", group.role);
  if (group.num_blocks) out.member("num_blocks", *group.num_blocks);
  out.close();
}

void write(TextWriter& out, const Placement& placement) {
  out.open_object();
  out.member("storage", placement.storage);
  out.list("layers", placement.layers);
  out.member("offset", placement.offset);
  out.member("layer_stride", placement.layer_stride);
  out.member("block_stride", placement.block_stride);
  out.close();
}

void write(TextWriter& out, const Tensor& tensor) {
  out.open_object();
  out.member("dtype", tensor.dtype.name);
  if (tensor.dtype.code == DType::opaque_code) out.member("itemsize", tensor.dtype.itemsize);
  out.list("shape", tensor.shape);
  out.list("stride", tensor.stride);
  out.member("storage_offset", tensor.storage_offset);
  out.member("storage", tensor.storage);
  out.close();
}

void write(TextWriter& out, const Cache& cache) {
  out.key(cache.layer);
  if (!cache.is_list && cache.tensors.size() == 1) return write(out, cache.tensors.front());
  out.open_array();
  for (const Tensor& tensor : cache.tensors) write(out, tensor);
  out.close();
}

void write_head(TextWriter& out, const RegistrationData& data) {
  out.member("schema", "kvedit.registration/1");
  out.key("engine");
  out.open_object();
  out.member("name", data.engine_name);
  out.member("version", data.engine_version);
  out.close();
  out.member("model", data.model);
  if (!data.layout.empty()) out.member("layout", data.layout);
  out.member("num_blocks", data.num_blocks);
  out.key("parallel");
  out.open_object();
  out.member("tp", data.parallel.tp);
  out.member("pp", data.parallel.pp);
  out.member("dcp", data.parallel.dcp);
  out.member("pcp", data.parallel.pcp);
  out.member("cp_interleave", data.parallel.cp_interleave);
  out.close();
}

void write_storages(TextWriter& out, const std::vector<Storage>& storages) {
  out.key("storages");
  out.open_object(Layout::lines);
  for (const Storage& storage : storages) {
    out.key(storage.name);
    out.open_object();
    out.member("nbytes", storage.nbytes);
    out.member("device", storage.device);
    out.close();
  }
  out.close();
}

template <class T>
void write_array(TextWriter& out, std::string_view name, const std::vector<T>& items) {
  out.key(name);
  out.open_array(Layout::lines);
  for (const T& item : items) write(out, item);
  out.close();
}

}  // namespace

std::string write_registration(const RegistrationData& data) {
  TextWriter out(TextWriter::Spacing::spaced);
  out.open_object(Layout::lines);
  write_head(out, data);
  write_array(out, "groups", data.groups);
  write_array(out, "placements", data.placements);
  write_storages(out, data.storages);
  out.key("backends");
  out.open_object(Layout::lines);
  for (const auto& [layer, backend] : data.backends) out.member(layer, backend);
  out.close();
  out.key("caches");
  out.open_object(Layout::lines);
  for (const Cache& cache : data.caches) write(out, cache);
  out.close();
  out.close();
  return std::move(out).take() + "\n";
}

}  // namespace kvedit
