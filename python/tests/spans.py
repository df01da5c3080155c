"""Byte sets, counted from the numbers of a page map or a view."""

import numpy as np


def merged(starts, length):
    """Runs of one length as disjoint, sorted spans; fails when two of them overlap."""
    starts = np.sort(np.asarray(starts, dtype=np.int64).ravel())
    assert (np.diff(starts) >= length).all(), "a byte twice"
    begins = starts[np.concatenate([[True], np.diff(starts) != length])]
    ends = starts[np.concatenate([np.diff(starts) != length, [True]])] + length
    return list(zip(begins.tolist(), ends.tolist()))


def union(spans):
    joined = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def inside(spans, others):
    """Whether every byte of the one is in the other."""
    return union([*spans, *others]) == union(others)


def of_block(parts, block):
    """Storage → spans of a block, from parts as the report and the expectations write them."""
    spans = {}
    for part in parts:
        base = part["base"] + block * part["block_stride"]
        found = spans.setdefault(part["storage"], [])
        found += [(base + offset, base + offset + length) for offset, length in part["ranges"]]
    return {storage: union(found) for storage, found in spans.items()}


def of_view(shape, stride, offset, itemsize, axis, block):
    """Spans of one entry of an axis; strides and offset in items."""
    axes = [(n, s) for i, (n, s) in enumerate(zip(shape, stride)) if i != axis]
    starts = np.zeros(1, dtype=np.int64)
    run = 1  # items that lie side by side
    for extent, step in sorted(axes, key=lambda each: each[1]):
        if step == run:
            run *= extent
        else:
            starts = (starts[:, None] + np.arange(extent, dtype=np.int64) * step).ravel()
    return merged((starts + offset + block * stride[axis]) * itemsize, run * itemsize)


def some_blocks(blocks):
    return sorted({0, min(1, blocks - 1), blocks // 2, blocks - 1})
