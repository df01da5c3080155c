#include "json/parse.hpp"
#include "json/registration_reader.hpp"

namespace kvedit {
namespace {

using Type = Item::Type;

std::string describe(const Item& item) {
  switch (item.type()) {
    case Type::null:
      return "null";
    case Type::array:
      return "an array";
    case Type::object:
      return "an object";
    case Type::text:
      return "the string " + excerpt(item.text());
    default:
      return item.json();
  }
}

Value to_value(const Item& item) {
  switch (item.type()) {
    case Type::null:
      return {};
    case Type::boolean:
      return Value::of(item.boolean());
    case Type::integer:
      return Value::of(item.integer());
    case Type::real:
      return Value::of(item.real());
    case Type::text:
      return Value::of(item.text());
    case Type::large:
    case Type::object:
      return Value::json(item.json());
    case Type::array:
      break;
  }
  std::vector<Value> items;
  items.reserve(item.size());
  item.each_element([&](const Item& each) { return items.push_back(to_value(each)), true; });
  return Value::of(std::move(items));
}

}  // namespace

bool RegistrationReader::expect(const Item& item, Type type, std::string_view wanted) {
  if (item.type() == type) return true;
  fail(item.pointer(), describe(item) + " where " + std::string(wanted) + " is wanted");
  return false;
}

void RegistrationReader::fail_missing(const Item& object, std::string_view name) {
  fail(object.pointer() + pointer_token(name), "missing; this field is required");
}

void RegistrationReader::read(const Item& item, std::int64_t& out) {
  if (expect(item, Type::integer, "a signed 64-bit integer")) out = item.integer();
}

void RegistrationReader::read(const Item& item, bool& out) {
  if (expect(item, Type::boolean, "true or false")) out = item.boolean();
}

void RegistrationReader::read(const Item& item, std::string& out) {
  if (expect(item, Type::text, "a string")) out = item.text();
}

void RegistrationReader::read(const Item& item, Spec& out) {
  if (!expect(item, Type::object, "an object")) return;
  if (!item.find("bases")) return fail_missing(item, "bases");
  std::vector<Attribute> attributes;
  attributes.reserve(item.size());
  item.each_member([&](std::string_view key, const Item& each) {
    attributes.push_back({std::string(key), to_value(each)});
    return true;
  });
  auto spec = make_spec({}, {}, std::move(attributes));
  if (!spec) return fail(item.pointer() + pointer_token(spec.error().where), spec.error().message);
  out = std::move(*spec);
}

void RegistrationReader::read(const Item& item, Tensor& out) {
  if (!expect(item, Type::object, "an object that describes a tensor")) return;
  read_dtype(item, out.dtype);
  required(item, "shape", out.shape);
  required(item, "stride", out.stride);
  required(item, "storage_offset", out.storage_offset);
  required(item, "storage", out.storage);
}

void RegistrationReader::read_dtype(const Item& tensor, DType& out) {
  std::string name;
  std::optional<std::int64_t> itemsize;
  required(tensor, "dtype", name);
  optional(tensor, "itemsize", itemsize);
  if (!ok()) return;
  const auto at = [&](const char* field) { return tensor.pointer() + field; };
  const auto known = find_dtype(name);
  if (!known && !itemsize)
    return fail(at("/dtype"), excerpt(name) +
                                  " is no known dtype; give the bytes of one "
                                  "element as itemsize beside it");
  if (known && itemsize && *itemsize != known->itemsize)
    return fail(at("/itemsize"), std::to_string(*itemsize) + " bytes, but an element of " + name +
                                     " has " + std::to_string(known->itemsize));
  if (itemsize && (*itemsize < 1 || *itemsize > 256))
    return fail(at("/itemsize"), std::to_string(*itemsize) + " where 1 to 256 bytes are wanted");
  out = known ? *known : opaque_dtype(name, static_cast<std::uint32_t>(*itemsize));
}

}  // namespace kvedit
