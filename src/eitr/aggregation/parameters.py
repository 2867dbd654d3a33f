"""Parameters as people have them (arrays, torch tensors, state_dicts) as flat vectors of numbers, and back.

Nothing here imports torch: a tensor is recognised by its methods.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError

Layout = tuple[tuple[str, tuple[int, ...]], ...]
"""The names and shapes of the floating-point entries of a state_dict, in order."""


def as_array(values: Any) -> NDArray[Any]:
    """Return an array, a torch tensor (on any device, with or without gradient) or nested lists as a numpy array.

    Half-precision numbers, bfloat16 included, become float32.

    >>> as_array(np.array([0.5], dtype=np.float16)).dtype
    dtype('float32')
    """
    try:
        if hasattr(values, "detach"):
            tensor = values.detach().cpu()
            values = (tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor).numpy()
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:  # sparse, quantised and other tensors that hold no array
        raise InputError(f"parameters must be an array of numbers: {error}") from error
    return array.astype(np.float32) if array.dtype == np.float16 else array


def as_vector(values: Any) -> NDArray[Any]:
    """Return parameters in any form, a state_dict included, as an array."""
    array = flatten_state_dict(values) if isinstance(values, Mapping) else as_array(values)
    if array.dtype == object:
        raise InputError(f"parameters must be an array of numbers, not {type(values).__name__}")
    return array


def layout_of(state_dict: Mapping[str, Any]) -> Layout:
    """Return the names and shapes of what `flatten_state_dict` joins."""
    return tuple((name, array.shape) for name, array in _floating(state_dict))


def flatten_state_dict(state_dict: Mapping[str, Any], like: Mapping[str, Any] | None = None) -> NDArray[Any]:
    """Return the floating-point entries of a state_dict, of torch or of numpy, one after the other as a vector.

    Other entries, such as the counters of batch normalisation, are left out: they cannot be averaged. With `like`, a
    state_dict of other names or shapes is refused.

    >>> flatten_state_dict({"weight": np.array([[1.0, 2.0]]), "bias": np.array([3.0]), "seen": np.array(7)})
    array([1., 2., 3.])
    """
    found = list(_floating(state_dict))
    if not found:
        raise InputError("the state_dict has no floating-point parameters")
    if like is not None:
        check_layout(state_dict, layout_of(like))
    return np.concatenate([array.ravel() for _, array in found])


def check_layout(state_dict: Mapping[str, Any], expected: Layout) -> None:
    """Refuse a state_dict whose parameters have other names, shapes or another order."""
    found = layout_of(state_dict)
    for (name, shape), (wanted, size) in zip(found, expected, strict=False):
        if name != wanted:
            raise InputError(f"the parameter {name!r} stands where {wanted!r} is expected")
        if shape != size:
            raise InputError(f"the parameter {name!r} has the shape {shape}, not {size}")
    if len(found) != len(expected):
        raise InputError(f"there are {len(found)} parameter arrays, not {len(expected)}")


def unflatten_state_dict(vector: Any, like: Mapping[str, Any]) -> dict[str, Any]:
    """Return a vector as a state_dict with the names, shapes and types of `like`, the inverse of `flatten_state_dict`.

    Entries of torch tensors become tensors on the same device. Entries that are no parameters come from `like`.

    >>> unflatten_state_dict(np.array([1.0, 2.0, 3.0]), {"weight": np.zeros((1, 2)), "bias": np.zeros(1)})
    {'weight': array([[1., 2.]]), 'bias': array([3.])}
    """
    numbers = as_array(vector)
    layout = dict(layout_of(like))
    total = sum(int(np.prod(shape)) for shape in layout.values())
    if numbers.shape != (total,):
        raise InputError(f"the model has {total} parameters, and the vector has the shape {numbers.shape}")
    restored, start = {}, 0
    for name, entry in like.items():
        if name not in layout:
            restored[name] = entry
            continue
        end = start + int(np.prod(layout[name]))
        restored[name] = _like(numbers[start:end].reshape(layout[name]), entry)
        start = end
    return restored


def _floating(state_dict: Mapping[str, Any]) -> "list[tuple[str, NDArray[Any]]]":
    arrays = ((str(name), as_array(entry)) for name, entry in state_dict.items())
    return [(name, array) for name, array in arrays if array.dtype.kind == "f"]


def _like(array: NDArray[Any], entry: Any) -> Any:
    """Return the array in the type of an entry: a tensor where that is one."""
    if not hasattr(entry, "detach"):
        return array.astype(np.asarray(entry).dtype)
    tensor = entry.detach()
    return tensor.new_tensor(array).to(dtype=tensor.dtype)
