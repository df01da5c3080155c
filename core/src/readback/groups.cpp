#include "readback/groups.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "readback/bytes.hpp"
#include "readback/handed.hpp"
#include "readback/members.hpp"
#include "readback/spec_words.hpp"

namespace kvedit::readback {
namespace {

auto identity(const Look& look) {
  return std::tuple(*look.format, look.read.planes, look.read.slots, look.read.heads,
                    look.read.width, std::string_view(look.entry.dtypes[0].name));
}

class GroupReader {
 public:
  GroupReader(Edit& edit, std::size_t group, const Frame& frame, Problems& problems)
      : edit_(edit),
        group_(edit.registration.data().groups[group]),
        index_(static_cast<std::int32_t>(group)),
        frame_(frame),
        problems_(problems),
        tokens_(tokens_read(group_, edit.registration.data().parallel.dcp)) {}

  void run() {
    const Members members =
        members_of(edit_, static_cast<std::size_t>(index_), frame_.order, problems_);
    for (const Member& member : members.layers) {
      if (read_like_one_before(member)) continue;
      const std::size_t reported = problems_.reported();
      check(first_like(members, member), member);
      if (problems_.reported() == reported) right_.push_back(member);
    }
    if (tokens_differ_)
      tokens_differ();
    else if (ratio_differs_)
      ratio_differs();
  }

 private:
  /// Layers of one identity share a kernel, and the first tells its block count and stride.
  static const Member& first_like(const Members& members, const Member& member) {
    const auto alike = [&](const Member& other) {
      return other.look == member.look || identity(*other.look) == identity(*member.look);
    };
    return *std::find_if(members.layers.begin(), members.layers.end(), alike);
  }

  /// Layers of one look are read alike; where all is right, one is enough.
  bool read_like_one_before(const Member& member) {
    const auto before = std::find_if(right_.begin(), right_.end(), [&](const Member& other) {
      return other.look == member.look;
    });
    if (before == right_.end()) return false;
    edit_.read_backs[member.layer] = edit_.read_backs[before->layer];
    return true;
  }

  void check(const Member& first, const Member& member) {
    check_window(first, member);
    check_tokens(member);
    if (!has_gaps(first))
      check_bytes(first, member);
    else if (&first == &member)
      refuse_gaps(member);
  }

  /// Then LMCache refuses the whole kernel, whatever its other layers are.
  static bool has_gaps(const Member& first) {
    const OuterStep step = outer_step(first.look->entry);
    return !keeps_stride(*first.look->format) && step.stride > step.tight;
  }

  void refuse_gaps(const Member& first) {
    const OuterStep step = outer_step(first.look->entry);
    error(first,
          text("LMCache reads ", shown(first.look->views.front()), " as ",
               to_text(*first.look->format), " and refuses ", step.stride,
               " elements from entry to entry where ", step.tight,
               " leave no gap; use profile native, or the page map"),
          {{"stride", step.stride}, {"tight", step.tight}});
  }

  void check_window(const Member& first, const Member& member) {
    const auto window = window_read(*member.look->of->facts.spec);
    const auto others = window_read(*first.look->of->facts.spec);
    if (window != others ||
        member.look->of->facts.spec->recurrent() != first.look->of->facts.spec->recurrent())
      error(member,
            text("LMCache wants one window for layers of equal shape in a group: ",
                 window.value_or(-1), " tokens here, ", others.value_or(-1), " in layer ",
                 edit_.layers[first.layer].name, " (-1: all)"),
            {{"window", window.value_or(-1)}, {"other", others.value_or(-1)}});
    else if (window && *window > 0 && tokens_ > 0 && *window % tokens_ != 0)
      window_is_no_multiple(member, *window);
  }

  void window_is_no_multiple(const Member& member, std::int64_t window) {
    const bool always = window < frame_.chunk;
    const std::string numbers = text("its window of ", window, " tokens is no multiple of the ",
                                     tokens_, " tokens of a block");
    std::vector<Fact> facts = {
        {"window", window}, {"tokens_per_block", tokens_}, {"chunk_tokens", frame_.chunk}};
    if (always)
      error(member,
            text(numbers, " and shorter than a chunk (at least ", frame_.chunk,
                 " tokens), which LMCache refuses; give the engine a block size that divides it"),
            std::move(facts));
    else
      warn(member,
           text(numbers, ", so LMCache refuses chunks above ", window, " tokens; the smallest is ",
                frame_.chunk),
           std::move(facts));
  }

  void check_tokens(const Member& member) {
    const std::int64_t slots = member.look->read.slots;
    tokens_differ_ = tokens_differ_                       ? tokens_differ_
                     : member.look->of->tokens != tokens_ ? member.look->of
                                                          : nullptr;
    if (tokens_ != group_.spec.block_size && !member.look->of->facts.spec->recurrent())
      ratio_differs_ = ratio_differs_ ? ratio_differs_ : member.look->of;
    if (!divides(slots))
      error(member,
            text("LMCache reads ", slots, " slots in a block of ", tokens_,
                 " tokens and refuses a group whose slots do not divide the tokens; use profile "
                 "native, or the page map"),
            {{"slots", slots}, {"tokens_per_block", tokens_}});
  }

  bool divides(std::int64_t slots) const { return slots > 0 && tokens_ % slots == 0; }

  void tokens_differ() {
    problems_.of_group(
        Severity::error, index_,
        text("LMCache takes a block id for ", tokens_, " tokens and it spans ",
             tokens_differ_->tokens, ": it multiplies attention by dcp ",
             edit_.registration.data().parallel.dcp,
             " and nothing else, whatever dcp_sharded says; serve this group without it"),
        {{"tokens_per_block", tokens_differ_->tokens}, {"read_as", tokens_}});
  }

  void ratio_differs() {
    const std::int64_t slots = std::max<std::int64_t>(ratio_differs_->slots, 1);
    problems_.of_group(
        Severity::warning, index_,
        text("LMCache reads ", tokens_, " tokens in ", slots,
             " slots where a rank's "
             "block has ",
             group_.spec.block_size, ": it shows the group as compressed; the bytes are right"),
        {{"tokens_per_block", group_.spec.block_size}, {"read_as", tokens_}});
  }

  void check_bytes(const Member& first, const Member& member) {
    const OuterStep used = outer_step(first.look->entry);
    const std::vector<Moved> moves =
        moved(member.look->entry, *member.look->format, member.look->read, used.stride);
    const bool counted = first.look->read.blocks == member.look->of->page->blocks;
    if (counted && right_bytes(*member.look->of, member.look->views, moves))
      return note(member, moves);
    const OuterStep own = outer_step(member.look->entry);
    if (counted && own.stride != used.stride &&
        right_bytes(*member.look->of, member.look->views,
                    moved(member.look->entry, *member.look->format, member.look->read, own.stride)))
      return stride_of_another(first, member, used.stride, own.stride);
    wrong_bytes(first, member, moves);
  }

  void stride_of_another(const Member& first, const Member& member, std::int64_t used,
                         std::int64_t own) {
    const std::int64_t item = member.look->entry.dtypes[0].itemsize;
    error(member,
          text("LMCache takes the ", used * item, " bytes from block to block of layer ",
               edit_.layers[first.layer].name,
               " for all layers of equal shape in the group, and here they are ", own * item,
               "; register the two in groups of their own, or use the page map"),
          {{"block_stride", own * item}, {"read_as", used * item}});
  }

  void wrong_bytes(const Member& first, const Member& member, const std::vector<Moved>& moves) {
    const BlockMove move = block_move(moves);
    const ProvedPage& page = *member.look->of->page;
    const std::int64_t step = page.payload.front().block_stride;
    error(member,
          text("LMCache reads ", shown(member.look->views.front()), " as ",
               to_text(*member.look->format), ", ", first.look->read.blocks, " blocks of ",
               member.look->read.slots, " slots, and moves ", move.bytes, " bytes in steps of ",
               move.step, "; it has ", page.blocks, " blocks of ", page.block_bytes,
               " bytes in steps of ", step,
               ", and they are not the same bytes; use profile native, or the page map"),
          {{"block_bytes", page.block_bytes},
           {"read_bytes", move.bytes},
           {"blocks", page.blocks},
           {"read_blocks", first.look->read.blocks}});
  }

  /// The bytes are right; keeps what is read, and tells where the slots have another name.
  void note(const Member& member, const std::vector<Moved>& moves) {
    const LayerClass& of = *member.look->of;
    if (edit_.layers[member.layer].outcome == Outcome::excluded) return;
    if (of.slots != member.look->read.slots && divides(member.look->read.slots))
      warn(member,
           text("LMCache takes ", of.slots, of.slots == 1 ? " slot" : " slots", " of a block for ",
                member.look->read.slots, " times ", member.look->read.heads,
                " heads; the bytes are right, and what it stores fits only where it is read so"),
           {{"slots", of.slots}, {"read_as", member.look->read.slots}});
    const BlockMove move = block_move(moves);
    edit_.read_backs[member.layer] = ReadBack{to_text(*member.look->format),
                                              member.look->read.planes,
                                              member.look->read.blocks,
                                              member.look->read.slots,
                                              member.look->read.heads,
                                              member.look->read.width,
                                              move.bytes,
                                              move.step};
  }

  void error(const Member& member, std::string message, std::vector<Fact> facts) {
    problems_.of_layer(Severity::error, member.layer, std::move(message), std::move(facts));
  }
  void warn(const Member& member, std::string message, std::vector<Fact> facts) {
    problems_.of_layer(Severity::warning, member.layer, std::move(message), std::move(facts));
  }

  Edit& edit_;
  const Group& group_;
  std::int32_t index_;
  Frame frame_;
  Problems& problems_;
  std::int64_t tokens_;
  const LayerClass* tokens_differ_ = nullptr;
  const LayerClass* ratio_differs_ = nullptr;
  std::vector<Member> right_;  // the first of each look of which nothing was reported
};

}  // namespace

void read_group(Edit& edit, std::size_t group, const Frame& frame, Problems& problems) {
  GroupReader(edit, group, frame, problems).run();
}

}  // namespace kvedit::readback
