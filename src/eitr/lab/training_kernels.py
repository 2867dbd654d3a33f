"""Triton kernels for local training: one step of thousands of clients, each with a model of its own, in three launches.

A step must read a client's first kernel once (forward) and read and write it and its velocity once (update): five
megabytes a client, and nothing else is of that size. So the forward pass gathers its rows from the table by itself,
the head (everything behind the first layer) works on one client a program, and the gradient of the first kernel never
exists in memory: it goes straight into the velocity. Products are exact to float32 (three tf32 products each).

The meaning is that of `torch_training.py`; `benchmarks/gpu_engine.py` compares the two on a GPU.
"""

# capital letters are compile-time constants here

from typing import Any

import triton
import triton.language as tl

PLACES = 64
"""Samples of a batch: what the kernels are written for."""


@triton.jit
def _mix(word: Any) -> Any:
    word = word ^ (word >> 16)
    word = word * 0x85EBCA6B
    word = word ^ (word >> 13)
    word = word * 0xC2B2AE35
    return word ^ (word >> 16)


@triton.jit
def _draw(key: Any, counter: Any) -> Any:
    """The words of `eitr.model.random`; unsigned 32-bit numbers wrap as they should."""
    return _mix(_mix(counter + 0x9E3779B9) ^ key)


@triton.jit(do_not_specialize=["step", "steps"])
def forward_first(
    parameters: Any,
    table: Any,
    rows: Any,
    order: Any,
    plan_of: Any,
    keys: Any,
    hidden: Any,
    step: Any,
    steps: Any,
    threshold: Any,
    scale: Any,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    TABLE_STRIDE: tl.constexpr,
    UNITS: tl.constexpr,
    BATCH: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_U: tl.constexpr,
) -> None:
    """hidden[i] = dropout(relu(table[rows] @ kernel + bias)) of the i-th client in `order`."""
    i = tl.program_id(0)
    slot = tl.load(order + i).to(tl.int64)
    plan = tl.load(plan_of + slot).to(tl.int64)
    samples = tl.arange(0, BATCH)
    units = tl.program_id(1) * BLOCK_U + tl.arange(0, BLOCK_U)
    pages = tl.load(rows + (plan * steps + step) * BATCH + samples).to(tl.int64)
    mine = parameters + slot * STRIDE
    total = tl.zeros((BATCH, BLOCK_U), dtype=tl.float32)
    for start in range(0, WIDTH, BLOCK_K):
        words = start + tl.arange(0, BLOCK_K)
        x = tl.load(table + pages[:, None] * TABLE_STRIDE + words[None, :], mask=words[None, :] < WIDTH, other=0.0)
        kernel = tl.load(mine + words[:, None] * UNITS + units[None, :], mask=words[:, None] < WIDTH, other=0.0)
        total = tl.dot(x, kernel, total, input_precision="tf32x3")
    total += tl.load(mine + WIDTH * UNITS + units)[None, :]
    key = _draw(_draw(tl.load(keys + plan).to(tl.uint32), step.to(tl.uint32)), tl.full((), 0, tl.uint32))
    word = _draw(key, (samples[:, None] * UNITS + units[None, :]).to(tl.uint32))
    kept = (total > 0) & (word.to(tl.int64) >= threshold)
    place = (i.to(tl.int64) * BATCH + samples[:, None]) * UNITS + units[None, :]
    tl.store(hidden + place, tl.where(kept, total * scale, 0.0))


@triton.jit(do_not_specialize=["step", "steps"])
def head(
    parameters: Any,
    velocity: Any,
    labels: Any,
    sizes: Any,
    order: Any,
    plan_of: Any,
    keys: Any,
    hidden: Any,
    step: Any,
    steps: Any,
    threshold: Any,
    scale: Any,
    rate: Any,
    momentum: Any,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    UNITS: tl.constexpr,
    INNER: tl.constexpr,
    CLASSES: tl.constexpr,
    PADDED: tl.constexpr,
    BATCH: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """Layers two and three, the loss, their gradients and steps; `hidden` becomes the errors of the first layer."""
    i = tl.program_id(0)
    slot = tl.load(order + i).to(tl.int64)
    plan = tl.load(plan_of + slot).to(tl.int64)
    samples = tl.arange(0, BATCH)
    inner = tl.arange(0, INNER)
    classes = tl.arange(0, PADDED)
    second = slot * STRIDE + (WIDTH + 1) * UNITS
    second_bias = second + UNITS * INNER
    third = second_bias + INNER
    third_bias = third + INNER * CLASSES
    mine = hidden + i.to(tl.int64) * BATCH * UNITS
    size = tl.load(sizes + plan * steps + step)
    truth = tl.load(labels + (plan * steps + step) * BATCH + samples)
    real_class = classes < CLASSES

    middle = tl.zeros((BATCH, INNER), dtype=tl.float32)
    for start in range(0, UNITS, BLOCK):
        units = start + tl.arange(0, BLOCK)
        x = tl.load(mine + samples[:, None] * UNITS + units[None, :])
        kernel = tl.load(parameters + second + units[:, None] * INNER + inner[None, :])
        middle = tl.dot(x, kernel, middle, input_precision="tf32x3")
    middle += tl.load(parameters + second_bias + inner)[None, :]
    key = _draw(_draw(tl.load(keys + plan).to(tl.uint32), step.to(tl.uint32)), tl.full((), 1, tl.uint32))
    word = _draw(key, (samples[:, None] * INNER + inner[None, :]).to(tl.uint32))
    kept = (middle > 0) & (word.to(tl.int64) >= threshold)
    middle = tl.where(kept, middle * scale, 0.0)

    third_at = third + inner[:, None] * CLASSES + classes[None, :]
    third_kernel = tl.load(parameters + third_at, mask=real_class[None, :], other=0.0)
    bias = tl.load(parameters + third_bias + classes, mask=real_class, other=0.0)
    logits = tl.dot(middle, third_kernel, input_precision="tf32x3") + bias[None, :]
    logits = tl.where(real_class[None, :], logits, -float("inf"))
    logits = tl.exp(logits - tl.max(logits, axis=1)[:, None])
    errors = logits / tl.sum(logits, axis=1)[:, None]
    errors = tl.where(classes[None, :] == truth[:, None], errors - 1.0, errors)
    errors = tl.where((samples < size)[:, None] & real_class[None, :], errors / size.to(tl.float32), 0.0)

    inner_errors = tl.dot(errors, tl.trans(third_kernel), input_precision="tf32x3")
    inner_errors = tl.where(kept, inner_errors * scale, 0.0)
    gradient = tl.dot(tl.trans(middle), errors, input_precision="tf32x3")
    speed = momentum * tl.load(velocity + third_at, mask=real_class[None, :], other=0.0) + gradient
    tl.store(velocity + third_at, speed, mask=real_class[None, :])
    tl.store(parameters + third_at, third_kernel - rate * speed, mask=real_class[None, :])
    bias_speed = momentum * tl.load(velocity + third_bias + classes, mask=real_class, other=0.0)
    bias_speed += tl.sum(errors, axis=0)
    tl.store(velocity + third_bias + classes, bias_speed, mask=real_class)
    tl.store(parameters + third_bias + classes, bias - rate * bias_speed, mask=real_class)

    for start in range(0, UNITS, BLOCK):
        units = start + tl.arange(0, BLOCK)
        x = tl.load(mine + samples[:, None] * UNITS + units[None, :])
        kernel_at = second + units[:, None] * INNER + inner[None, :]
        kernel = tl.load(parameters + kernel_at)
        before = tl.dot(inner_errors, tl.trans(kernel), input_precision="tf32x3")
        part = tl.dot(tl.trans(x), inner_errors, input_precision="tf32x3")
        kernel_speed = momentum * tl.load(velocity + kernel_at) + part
        tl.store(velocity + kernel_at, kernel_speed)
        tl.store(parameters + kernel_at, kernel - rate * kernel_speed)
        tl.store(mine + samples[:, None] * UNITS + units[None, :], tl.where(x > 0, before * scale, 0.0))
    inner_bias = tl.load(parameters + second_bias + inner)
    inner_speed = momentum * tl.load(velocity + second_bias + inner) + tl.sum(inner_errors, axis=0)
    tl.store(velocity + second_bias + inner, inner_speed)
    tl.store(parameters + second_bias + inner, inner_bias - rate * inner_speed)


@triton.jit(do_not_specialize=["step", "steps"])
def move_first(
    parameters: Any,
    velocity: Any,
    table: Any,
    rows: Any,
    order: Any,
    plan_of: Any,
    hidden: Any,
    step: Any,
    steps: Any,
    rate: Any,
    momentum: Any,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    TABLE_STRIDE: tl.constexpr,
    UNITS: tl.constexpr,
    BATCH: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_U: tl.constexpr,
) -> None:
    """velocity = momentum velocity + table[rows].T @ errors, kernel -= rate velocity, and the same for the bias."""
    i = tl.program_id(0)
    slot = tl.load(order + i).to(tl.int64)
    plan = tl.load(plan_of + slot).to(tl.int64)
    samples = tl.arange(0, BATCH)
    words = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    units = tl.program_id(2) * BLOCK_U + tl.arange(0, BLOCK_U)
    pages = tl.load(rows + (plan * steps + step) * BATCH + samples).to(tl.int64)
    x = tl.load(table + pages[:, None] * TABLE_STRIDE + words[None, :], mask=words[None, :] < WIDTH, other=0.0)
    errors = tl.load(hidden + (i.to(tl.int64) * BATCH + samples[:, None]) * UNITS + units[None, :])
    gradient = tl.dot(tl.trans(x), errors, input_precision="tf32x3")
    at = slot * STRIDE + words[:, None] * UNITS + units[None, :]
    inside = words[:, None] < WIDTH
    speed = momentum * tl.load(velocity + at, mask=inside, other=0.0) + gradient
    tl.store(velocity + at, speed, mask=inside)
    tl.store(parameters + at, tl.load(parameters + at, mask=inside, other=0.0) - rate * speed, mask=inside)
    if tl.program_id(1) == 0:
        bias_at = slot * STRIDE + WIDTH * UNITS + units
        bias_speed = momentum * tl.load(velocity + bias_at) + tl.sum(errors, axis=0)
        tl.store(velocity + bias_at, bias_speed)
        tl.store(parameters + bias_at, tl.load(parameters + bias_at) - rate * bias_speed)
