#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvedit {

class Item;

/// A parsed JSON text: nodes in document order, an object's members as key node, value node.
/// Flat, so that no input makes it slow to free or deep to walk.
class Document {
 public:
  enum class Type : std::uint8_t { null, boolean, integer, large, real, text, array, object };

  struct Node {
    Type type = Type::null;
    std::uint32_t extent = 0;   // text: bytes; array, object: number of the node after the last
    std::uint64_t content = 0;  // the value; text: where it begins; array, object: how many items
  };

  Item root() const;
  std::string_view text_of(const Node& node) const {
    return std::string_view(texts).substr(node.content, node.extent);
  }
  std::uint32_t after(std::uint32_t node) const {
    const Node& at = nodes[node];
    return at.type == Type::array || at.type == Type::object ? at.extent : node + 1;
  }

  std::vector<Node> nodes;
  std::string texts;
};

/// One value of a document.
class Item {
 public:
  using Type = Document::Type;

  Item(const Document& document, std::uint32_t node) : document_(&document), node_(node) {}

  Type type() const { return at().type; }
  bool boolean() const { return at().content != 0; }
  std::int64_t integer() const { return std::bit_cast<std::int64_t>(at().content); }
  std::uint64_t large() const { return at().content; }  // above 2^63 - 1
  double real() const { return std::bit_cast<double>(at().content); }
  std::string_view text() const { return document_->text_of(at()); }
  std::size_t size() const { return at().content; }

  /// Calls `visit(Item)` until it says false.
  template <class Visit>
  void each_element(Visit visit) const {
    for (std::uint32_t i = node_ + 1; i < at().extent; i = document_->after(i))
      if (!visit(Item(*document_, i))) return;
  }
  /// Calls `visit(std::string_view key, Item)` until it says false.
  template <class Visit>
  void each_member(Visit visit) const {
    for (std::uint32_t i = node_ + 1; i < at().extent; i = document_->after(i + 1))
      if (!visit(document_->text_of(document_->nodes[i]), Item(*document_, i + 1))) return;
  }
  std::optional<Item> find(std::string_view key) const;

  std::string pointer() const;  // RFC 6901
  std::string json() const;     // without white space

 private:
  const Document::Node& at() const { return document_->nodes[node_]; }
  /// The child that is or holds the node, and its reference token.
  Item step_to(std::uint32_t node, std::string& token) const;

  const Document* document_;
  std::uint32_t node_;
};

inline Item Document::root() const { return Item(*this, 0); }

/// "/" and the key as a JSON pointer's reference token.
std::string pointer_token(std::string_view key);

}  // namespace kvedit
