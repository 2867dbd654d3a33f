"""Lanes compiled to SIMD registers: a vector of `LANES` float64 as a numba value.

Why this exists: numba leaves the vectorising of `for lane in range(16)` to LLVM, which gives up on a
compare-exchange because it cannot prove that the two rows do not overlap (measured: scalar code, 4 to 6 times
slower). Emitting vector instructions directly leaves LLVM nothing to prove, and it splits them into whatever
registers the processor has. `_lanes_plain.py` says the same in NumPy, for runs with the JIT switched off.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 16
LINE = 32

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)
_INT = ir.IntType(64)
# Rows of scratch arrays are only known to be aligned to their elements; the hardware is fast on aligned ones anyway.
_ALIGNMENT = 8


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name="EitrLanes")


class _Mask(types.Type):
    def __init__(self) -> None:
        super().__init__(name="EitrMask")


_lanes = _Lanes()
_mask = _Mask()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend: Any) -> None:
        super().__init__(manager, frontend, _VECTOR)  # type: ignore[no-untyped-call]


@register_model(_Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend: Any) -> None:
        super().__init__(manager, frontend, _BITS)  # type: ignore[no-untyped-call]


def _row_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    first = builder.gep(array.data, [builder.mul(args[1], ir.Constant(_INT, LANES))])
    return builder.bitcast(first, _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, row: Any) -> Any:
    """Read one row of a C-contiguous (rows, LANES) float64 array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(_row_pointer(context, builder, signature, args))
        value.align = _ALIGNMENT
        return value

    return _lanes(array, types.int64), generate


@intrinsic
def store(typing: Any, array: Any, row: Any, value: Any) -> Any:
    """Write one row of a C-contiguous (rows, LANES) float64 array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        written = builder.store(args[2], _row_pointer(context, builder, signature, args))
        written.align = _ALIGNMENT
        return context.get_dummy_value()

    return types.void(array, types.int64, _lanes), generate


@intrinsic
def splat(typing: Any, number: Any) -> Any:
    """The same number in every lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        empty = ir.Constant(_VECTOR, ir.Undefined)
        one = builder.insert_element(empty, args[0], ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, empty, everywhere)

    return _lanes(types.float64), generate


@intrinsic
def add_line(typing: Any, target: Any, row: Any, source: Any, other: Any) -> Any:
    """Add one row of a C-contiguous (rows, LINE) int32 array to a row of another one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        line = ir.VectorType(ir.IntType(32), LINE)

        def pointer(kind: Any, array: Any, row: Any) -> Any:
            data = context.make_array(kind)(context, builder, array).data
            first = builder.gep(data, [builder.mul(row, ir.Constant(_INT, LINE))])
            return builder.bitcast(first, line.as_pointer())

        place = pointer(signature.args[0], args[0], args[1])
        old, more = builder.load(place), builder.load(pointer(signature.args[2], args[2], args[3]))
        written = builder.store(builder.add(old, more), place)
        old.align = more.align = written.align = 4
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), generate


def _operation(result: Any, operands: tuple[Any, ...], emit: Callable[..., Any]) -> Any:
    """Make an intrinsic of a fixed signature from a function that emits its instruction."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit(builder, *args)

    if len(operands) == 1:
        return intrinsic(lambda typing, a: (result(*operands), generate))
    if len(operands) == 2:
        return intrinsic(lambda typing, a, b: (result(*operands), generate))
    return intrinsic(lambda typing, a, b, c: (result(*operands), generate))


def _library(name: str) -> Callable[..., Any]:
    """Emit a call of an LLVM vector intrinsic; inputs are never NaN, which saves the NaN handling."""

    def emit(builder: Any, *args: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(args))
        function: Any = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, f"llvm.{name}.v{LANES}f64"
        )
        return builder.call(function, args, fastmath=("nnan", "nsz"))

    return emit


_two = (_lanes, _lanes)
add = _operation(_lanes, _two, lambda builder, a, b: builder.fadd(a, b))
subtract = _operation(_lanes, _two, lambda builder, a, b: builder.fsub(a, b))
multiply = _operation(_lanes, _two, lambda builder, a, b: builder.fmul(a, b))
divide = _operation(_lanes, _two, lambda builder, a, b: builder.fdiv(a, b))
minimum = _operation(_lanes, _two, _library("minnum"))
maximum = _operation(_lanes, _two, _library("maxnum"))
absolute = _operation(_lanes, (_lanes,), _library("fabs"))
less = _operation(_mask, _two, lambda builder, a, b: builder.fcmp_ordered("<", a, b))
less_equal = _operation(_mask, _two, lambda builder, a, b: builder.fcmp_ordered("<=", a, b))
equal = _operation(_mask, _two, lambda builder, a, b: builder.fcmp_ordered("==", a, b))
both = _operation(_mask, (_mask, _mask), lambda builder, a, b: builder.and_(a, b))
either = _operation(_mask, (_mask, _mask), lambda builder, a, b: builder.or_(a, b))
where = _operation(_lanes, (_mask, _lanes, _lanes), lambda builder, m, a, b: builder.select(m, a, b))
