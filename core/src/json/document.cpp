#include "json/document.hpp"

#include "json/text_writer.hpp"

namespace kvedit {
namespace {

void write(const Item& item, TextWriter& out) {
  switch (item.type()) {
    case Item::Type::null:
      return out.null();
    case Item::Type::boolean:
      return out.value(item.boolean());
    case Item::Type::integer:
      return out.value(item.integer());
    case Item::Type::large:
      return out.value(item.large());
    case Item::Type::real:
      return out.value(item.real());
    case Item::Type::text:
      return out.value(item.text());
    case Item::Type::array:
      out.open_array();
      item.each_element([&](const Item& each) { return write(each, out), true; });
      return out.close();
    case Item::Type::object:
      out.open_object();
      item.each_member([&](std::string_view key, const Item& each) {
        out.key(key);
        write(each, out);
        return true;
      });
      return out.close();
  }
}

}  // namespace

std::optional<Item> Item::find(std::string_view key) const {
  std::optional<Item> found;
  each_member([&](std::string_view name, const Item& item) {
    if (name == key) found = item;
    return !found;
  });
  return found;
}

std::string Item::pointer() const {
  std::string pointer;
  for (Item item = document_->root(); item.node_ != node_;) item = item.step_to(node_, pointer);
  return pointer;
}

Item Item::step_to(std::uint32_t node, std::string& token) const {
  Item next = *this;
  const auto holds = [&](const Item& item) {
    next = item;
    return node < document_->after(item.node_);
  };
  if (type() == Type::array) {
    std::size_t index = 0;
    each_element([&](const Item& item) { return !holds(item) && ++index != 0; });
    token += "/" + std::to_string(index);
  } else {
    std::string_view name;
    each_member([&](std::string_view key, const Item& item) {
      name = key;
      return !holds(item);
    });
    token += pointer_token(name);
  }
  return next;
}

std::string Item::json() const {
  TextWriter out(TextWriter::Spacing::tight);
  write(*this, out);
  return std::move(out).take();
}

std::string pointer_token(std::string_view key) {
  std::string token = "/";
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

}  // namespace kvedit
