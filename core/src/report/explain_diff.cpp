#include <algorithm>
#include <array>
#include <utility>

#include <kvedit/diff.hpp>

#include "base/text.hpp"
#include "report/paint.hpp"

namespace kvedit {
namespace {

using report::counted;
using report::Ink;
using report::padded;
using report::Painter;

using Consequence = std::pair<std::string_view, std::string_view>;
constexpr std::array consequences = {
    Consequence{"layers", "an entry of one side holds other layers than the other side fills"},
    Consequence{"layer order", "the layers follow each other differently inside an entry"},
    Consequence{"group order", "an entry of group number n belongs to other layers"},
    Consequence{"tp", "rank for rank, the two sides hold other heads of the same layers"},
    Consequence{"kind", "the entries hold what another kind of layer keeps"},
    Consequence{"backend", "backends may order bytes differently inside equal shapes"},
    Consequence{"declared", "the order is the word of another rule, or of another version of it"},
    Consequence{"tokens",
                "a block spans other tokens, so no prefix of one is a prefix of the other"},
    Consequence{"context_parallel", "a rank holds other tokens of each block"},
    Consequence{"states", "a block holds another number of states"},
    Consequence{"bytes", "an entry of one side does not fill a block of the other"},
    Consequence{"dtype", "the same bits are other numbers"},
    Consequence{"state", "the states have other shapes or types"},
    Consequence{"heads", "the bytes are cut into other heads"},
    Consequence{"head_size", "K and V of a head have other sizes"},
    Consequence{"kv_quant_mode", "the bytes are quantised in another way"},
    Consequence{"cache_dtype_str", "the same bits are other numbers, or packed in another format"},
    Consequence{"tq_slot_size", "the content is packed in another format"},
    Consequence{"model_version", "the content is packed in another format"},
    Consequence{"kernel_pages", "content of its own format may be ordered by kernel page"},
    Consequence{"order", "the same bytes stand at other places of an entry"},
    Consequence{"tensor", "the same bytes stand at other places of an entry"},
    Consequence{"scattered", "the same bytes stand at other places of an entry"},
    Consequence{"ranges", "the same bytes stand at other places of an entry"},
};

std::string shown(std::string_view value) {
  constexpr std::size_t most = 400;  // an entry of many ranges is no sentence
  if (value.empty()) return "nothing";
  const std::string clean = Painter::clean(value);
  if (clean.size() <= most) return clean;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xc0) == 0x80)
    --end;  // whole letters
  return clean.substr(0, end) + " ...";
}

std::string axis_words(std::string_view axis) {
  const std::size_t colon = axis.find(':');
  const std::string_view role = axis.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? "" : axis.substr(colon + 1);
  const std::string_view extent = rest.substr(0, rest.find(':'));
  if (role == "kv") return "K and V";
  if (role == "kernel_page") return text(extent, " kernel pages");
  if (role == "token") return text(extent, " states");
  if (role == "head") return text(extent, " heads");
  if (role == "content") return text(extent, " bytes of content");
  if (role == "item") return text(extent, " bytes of an element");
  return text(extent, " of unnamed ", role);
}

/// "0 token:32:128 head:2:64 …" in words, from outside to inside.
std::string order_words(std::string_view order) {
  if (order == "states") return "the declared states one after the other";
  std::string words;
  while (!order.empty()) {
    const std::size_t blank = std::min(order.find(' '), order.size());
    const std::string_view piece = order.substr(0, blank);
    order.remove_prefix(std::min(blank + 1, order.size()));
    if (piece.find(':') == std::string_view::npos) continue;  // its first byte
    words += text(words.empty() ? "" : " of ", axis_words(piece));
  }
  return words;
}

std::string value_lines(const LayoutDifference& difference, std::string_view side,
                        const std::string& value) {
  std::string words;
  if (difference.field == "order" && value.find(';') == std::string::npos)
    words = order_words(value);
  if (words.empty()) return text("      ", side, "  ", shown(value), "\n");
  return text("      ", side, "  ", Painter::clean(words), "\n         (", shown(value), ")\n");
}

std::string difference_lines(const LayoutDifference& difference, const Painter& painter) {
  std::string head = text("  ", painter.paint(Ink::bad, difference.field), " differs");
  if (difference.layers > 0)
    head += text(" in ", counted(difference.layers, "layer", "layers"), ", first ",
                 Painter::clean(difference.layer));
  return text(head, ": ", consequence(difference), "\n", value_lines(difference, "A", difference.a),
              value_lines(difference, "B", difference.b));
}

std::string immaterial_line(const std::vector<LayoutDifference>& differences) {
  std::string all;
  for (const LayoutDifference& each : differences)
    all += text(all.empty() ? "" : "; ", each.field, " ", shown(each.a), " and ", shown(each.b));
  return all;
}

std::string group_head(const GroupDiff& group, const Painter& painter) {
  const bool shares = group.may_share();
  std::string names;
  if (group.b < 0)
    names = text("group ", group.a, " of A");
  else if (group.a < 0)
    names = text("group ", group.b, " of B");
  else
    names = text("group ", group.a, " of A and ", group.b, " of B");
  return text(names, ": ",
              painter.paint(shares ? Ink::good : Ink::bad, shares ? "may share" : "must not share"),
              "\n");
}

std::string group_lines(const GroupDiff& group, const Painter& painter) {
  std::string lines = group_head(group, painter);
  if (group.a < 0 || group.b < 0)
    return lines + text("  no stored group of the other side has a layer of it\n");
  if (group.may_share()) lines += text("  fingerprint  ", group.fingerprint_a, "\n");
  for (const LayoutDifference& each : group.differences) lines += difference_lines(each, painter);
  std::string equal;
  for (const std::string& field : group.equal) equal += text(equal.empty() ? "" : ", ", field);
  if (!equal.empty()) lines += text("  equal: ", equal, "\n");
  if (!group.immaterial.empty())
    lines += text("  differs and does not matter: ", immaterial_line(group.immaterial), "\n");
  return lines;
}

std::string verdict(const LayoutDiff& diff, const Painter& painter) {
  if (diff.may_share())
    return text(painter.paint(Ink::good, "may share"),
                ": an entry stored by one side is what the other expects\n");
  const auto shared = std::count_if(diff.groups.begin(), diff.groups.end(),
                                    [](const GroupDiff& group) { return group.may_share(); });
  std::string why =
      text("fingerprints differ; ", shared, " of ",
           counted(static_cast<std::int64_t>(diff.groups.size()), "group", "groups"), " may share");
  if (!diff.ok_a || !diff.ok_b)
    why = text(!diff.ok_a && !diff.ok_b ? "neither side is"
               : diff.ok_a              ? "B is not"
                                        : "A is not",
               " ok; kvedit explain shows why");
  else if (diff.fingerprint_a.empty() || diff.fingerprint_b.empty())
    why = "a side stores nothing";
  return text(painter.paint(Ink::bad, "must not share"), ": ", why, "\n");
}

}  // namespace

std::string_view consequence(const LayoutDifference& difference) {
  for (const auto& [field, words] : consequences)
    if (field == difference.field) return words;
  return "the entries do not mean the same";
}

std::string explain_diff(const LayoutDiff& diff, std::string_view name_a, std::string_view name_b,
                         const TextOptions& options) {
  const Painter painter(options);
  const auto print_of = [](const std::string& print) { return print.empty() ? "none" : print; };
  const std::string a = Painter::clean(name_a), b = Painter::clean(name_b);
  const std::size_t width = std::max(a.size(), b.size());
  std::string all = verdict(diff, painter);
  all += text("  A  ", padded(a, width), "  ", print_of(diff.fingerprint_a), "\n  B  ",
              padded(b, width), "  ", print_of(diff.fingerprint_b), "\n");
  for (const LayoutDifference& each : diff.differences) all += difference_lines(each, painter);
  if (!diff.immaterial.empty())
    all += text("  not part of the layout: ", immaterial_line(diff.immaterial), "\n");
  for (const GroupDiff& group : diff.groups) all += "\n" + group_lines(group, painter);
  if (diff.ok_a && diff.ok_b && !diff.groups.empty())
    all += "\nkeys must also hold the model and the rank: no registration names them\n";
  return all;
}

}  // namespace kvedit
