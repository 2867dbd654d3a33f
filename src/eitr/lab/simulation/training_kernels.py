"""Triton kernels for local training: one step of thousands of clients, each with a model of its own, in two launches.

A step must read and write a client's first kernel and its velocity: four megabytes, and nothing else is of that size.
So the update of a step and the forward pass of the next are one pass over the kernel (`advance`), which gathers its
rows from the table by itself; the gradient of the first kernel never exists in memory; and the head (everything behind
the first layer) works on one client a program. Products are exact to float32: three tf32 products each.

The meaning is that of `torch_training.py`; `benchmarks/gpu_engine.py` compares the two on a GPU.
"""

# capital letters are compile-time constants here

import triton
import triton.language as tl


@triton.jit
def _mix(word):
    word = word ^ (word >> 16)
    word = word * 0x85EBCA6B
    word = word ^ (word >> 13)
    word = word * 0xC2B2AE35
    return word ^ (word >> 16)


@triton.jit
def _draw(key, counter):
    """The words of `eitr.model.random`; unsigned 32-bit numbers wrap as they should."""
    return _mix(_mix(counter + 0x9E3779B9) ^ key)


@triton.jit(do_not_specialize=["step", "steps"])
def forward_first(
    parameters,
    table,
    rows,
    order,
    plan_of,
    keys,
    hidden,
    step,
    steps,
    threshold,
    scale,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    TABLE_STRIDE: tl.constexpr,
    UNITS: tl.constexpr,
    BATCH: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_U: tl.constexpr,
):
    """hidden[i] = dropout(relu(table[rows] @ kernel + bias)) of the i-th client in `order`."""
    # The programs of one client are neighbours: they share the pages' rows in the cache.
    i = tl.program_id(1)
    slot = tl.load(order + i).to(tl.int64)
    plan = tl.load(plan_of + slot).to(tl.int64)
    samples = tl.arange(0, BATCH)
    units = tl.program_id(0) * BLOCK_U + tl.arange(0, BLOCK_U)
    pages = tl.load(rows + (plan * steps + step) * BATCH + samples).to(tl.int64)
    mine = parameters + slot * STRIDE
    total = tl.zeros((BATCH, BLOCK_U), dtype=tl.float32)
    for start in range(0, WIDTH, BLOCK_K):
        words = start + tl.arange(0, BLOCK_K)
        x = tl.load(table + pages[:, None] * TABLE_STRIDE + words[None, :], mask=words[None, :] < WIDTH, other=0.0)
        kernel = tl.load(mine + words[:, None] * UNITS + units[None, :], mask=words[:, None] < WIDTH, other=0.0)
        total = tl.dot(x, kernel, total, input_precision=PRECISION)
    total += tl.load(mine + WIDTH * UNITS + units)[None, :]
    key = _draw(_draw(tl.load(keys + plan).to(tl.uint32), step.to(tl.uint32)), tl.full((), 0, tl.uint32))
    word = _draw(key, (samples[:, None] * UNITS + units[None, :]).to(tl.uint32))
    kept = (total > 0) & (word.to(tl.int64) >= threshold)
    place = (i.to(tl.int64) * BATCH + samples[:, None]) * UNITS + units[None, :]
    tl.store(hidden + place, tl.where(kept, total * scale, 0.0))


@triton.jit(do_not_specialize=["step", "steps"])
def head(
    parameters,
    velocity,
    labels,
    sizes,
    order,
    plan_of,
    keys,
    hidden,
    step,
    steps,
    threshold,
    scale,
    rate,
    momentum,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    UNITS: tl.constexpr,
    INNER: tl.constexpr,
    CLASSES: tl.constexpr,
    PADDED: tl.constexpr,
    BATCH: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK: tl.constexpr,
):
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
        middle = tl.dot(x, kernel, middle, input_precision=PRECISION)
    middle += tl.load(parameters + second_bias + inner)[None, :]
    key = _draw(_draw(tl.load(keys + plan).to(tl.uint32), step.to(tl.uint32)), tl.full((), 1, tl.uint32))
    word = _draw(key, (samples[:, None] * INNER + inner[None, :]).to(tl.uint32))
    kept = (middle > 0) & (word.to(tl.int64) >= threshold)
    middle = tl.where(kept, middle * scale, 0.0)

    third_at = third + inner[:, None] * CLASSES + classes[None, :]
    third_kernel = tl.load(parameters + third_at, mask=real_class[None, :], other=0.0)
    bias = tl.load(parameters + third_bias + classes, mask=real_class, other=0.0)
    logits = tl.dot(middle, third_kernel, input_precision=PRECISION) + bias[None, :]
    logits = tl.where(real_class[None, :], logits, -float("inf"))
    logits = tl.exp(logits - tl.max(logits, axis=1)[:, None])
    errors = logits / tl.sum(logits, axis=1)[:, None]
    errors = tl.where(classes[None, :] == truth[:, None], errors - 1.0, errors)
    errors = tl.where((samples < size)[:, None] & real_class[None, :], errors / size.to(tl.float32), 0.0)

    inner_errors = tl.dot(errors, tl.trans(third_kernel), input_precision=PRECISION)
    inner_errors = tl.where(kept, inner_errors * scale, 0.0)
    gradient = tl.dot(tl.trans(middle), errors, input_precision=PRECISION)
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
        before = tl.dot(inner_errors, tl.trans(kernel), input_precision=PRECISION)
        part = tl.dot(tl.trans(x), inner_errors, input_precision=PRECISION)
        kernel_speed = momentum * tl.load(velocity + kernel_at) + part
        tl.store(velocity + kernel_at, kernel_speed)
        tl.store(parameters + kernel_at, kernel - rate * kernel_speed)
        tl.store(mine + samples[:, None] * UNITS + units[None, :], tl.where(x > 0, before * scale, 0.0))
    inner_bias = tl.load(parameters + second_bias + inner)
    inner_speed = momentum * tl.load(velocity + second_bias + inner) + tl.sum(inner_errors, axis=0)
    tl.store(velocity + second_bias + inner, inner_speed)
    tl.store(parameters + second_bias + inner, inner_bias - rate * inner_speed)


@triton.jit(do_not_specialize=["step", "steps"])
def advance(
    parameters,
    velocity,
    table,
    rows,
    order,
    plan_of,
    keys,
    hidden,
    step,
    steps,
    threshold,
    scale,
    rate,
    momentum,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    TABLE_STRIDE: tl.constexpr,
    UNITS: tl.constexpr,
    BATCH: tl.constexpr,
    GRADIENT_PRECISION: tl.constexpr,
    FORWARD_PRECISION: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_U: tl.constexpr,
):
    """Move the first layer by this step's errors, and with the new kernel at hand compute the next step's `hidden`.

    velocity = momentum velocity + table[rows].T @ errors, kernel -= rate velocity, and the same for the bias. A program
    owns some units: it reads their errors first and overwrites them last.
    """
    # The programs of one client are neighbours: they share the pages' rows in the cache.
    i = tl.program_id(1)
    slot = tl.load(order + i).to(tl.int64)
    plan = tl.load(plan_of + slot).to(tl.int64)
    samples = tl.arange(0, BATCH)
    units = tl.program_id(0) * BLOCK_U + tl.arange(0, BLOCK_U)
    # Behind a client's last step nobody looks at `hidden`: any batch will do.
    following = tl.minimum(step + 1, steps - 1)
    pages = tl.load(rows + (plan * steps + step) * BATCH + samples).to(tl.int64)
    next_pages = tl.load(rows + (plan * steps + following) * BATCH + samples).to(tl.int64)
    place = (i.to(tl.int64) * BATCH + samples[:, None]) * UNITS + units[None, :]
    errors = tl.load(hidden + place)
    total = tl.zeros((BATCH, BLOCK_U), dtype=tl.float32)
    for start in range(0, WIDTH, BLOCK_K):
        words = start + tl.arange(0, BLOCK_K)
        at = slot * STRIDE + words[:, None] * UNITS + units[None, :]
        inside = words[:, None] < WIDTH
        speed = tl.load(velocity + at, mask=inside, other=0.0)
        kernel = tl.load(parameters + at, mask=inside, other=0.0)
        x = tl.load(table + pages[:, None] * TABLE_STRIDE + words[None, :], mask=words[None, :] < WIDTH, other=0.0)
        y = tl.load(table + next_pages[:, None] * TABLE_STRIDE + words[None, :], mask=words[None, :] < WIDTH, other=0.0)
        speed = momentum * speed + tl.dot(tl.trans(x), errors, input_precision=GRADIENT_PRECISION)
        kernel = kernel - rate * speed
        tl.store(velocity + at, speed, mask=inside)
        tl.store(parameters + at, kernel, mask=inside)
        total = tl.dot(y, kernel, total, input_precision=FORWARD_PRECISION)
    bias_at = slot * STRIDE + WIDTH * UNITS + units
    bias_speed = momentum * tl.load(velocity + bias_at) + tl.sum(errors, axis=0)
    bias = tl.load(parameters + bias_at) - rate * bias_speed
    tl.store(velocity + bias_at, bias_speed)
    tl.store(parameters + bias_at, bias)
    total += bias[None, :]
    key = _draw(_draw(tl.load(keys + plan).to(tl.uint32), (step + 1).to(tl.uint32)), tl.full((), 0, tl.uint32))
    word = _draw(key, (samples[:, None] * UNITS + units[None, :]).to(tl.uint32))
    kept = (total > 0) & (word.to(tl.int64) >= threshold)
    tl.store(hidden + place, tl.where(kept, total * scale, 0.0))
