"""Vectors of sixteen float32 as numba values, for `products.py`; like the float64 lanes of `eitr.robust`."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 16

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_ALIGNMENT = 4  # rows begin anywhere


class _Vector(types.Type):
    def __init__(self) -> None:
        super().__init__(name="EitrVector")


_vector = _Vector()


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend: Any) -> None:
        super().__init__(manager, frontend, _VECTOR)  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of element (row, column) of an array of any strides, as that of a vector."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    strides = cgutils.unpack_tuple(builder, array.strides)  # type: ignore[no-untyped-call]
    offset = builder.add(builder.mul(args[1], strides[0]), builder.mul(args[2], strides[1]))
    data = builder.bitcast(array.data, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, row: Any, column: Any) -> Any:
    """Read sixteen numbers of a row, from a column on; the row must lie in one piece."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(_pointer(context, builder, signature, args))
        value.align = _ALIGNMENT
        return value

    return _vector(array, types.int64, types.int64), generate


@intrinsic
def store(typing: Any, array: Any, row: Any, column: Any, value: Any) -> Any:
    """Write sixteen numbers of a row, from a column on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        written = builder.store(args[3], _pointer(context, builder, signature, args))
        written.align = _ALIGNMENT
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, _vector), generate


@intrinsic
def splat(typing: Any, number: Any) -> Any:
    """The same number sixteen times."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        empty = ir.Constant(_VECTOR, ir.Undefined)
        one = builder.insert_element(empty, args[0], ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, empty, everywhere)

    return _vector(types.float32), generate


@intrinsic
def fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, in one rounding where the processor has an instruction for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        function: Any = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, f"llvm.fmuladd.v{LANES}f32"
        )
        return builder.call(function, args)

    return _vector(_vector, _vector, _vector), generate
