"""Steps of the compiled loops that work on several lanes of a register at once, written as LLVM has them.

Compilers do not find these by themselves in a loop over a few rows. LLVM makes of them what the processor
has. Nothing checks an index: callers keep what is read and written inside the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_EIGHT = ir.VectorType(_INT32, 8)
_IF_ZERO_THE_WIDTH = ir.Constant(ir.IntType(1), 0)


def _step(builder_of: Callable[..., Any]) -> Any:
    return intrinsic(builder_of)


class _Steps:
    """What the steps share: addresses in the arrays given, and values in all lanes."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder, self.arguments = builder, arguments
        self._arrays = [
            context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else None
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        self.nothing = context.get_dummy_value()

    def address(self, array: int, at: Any, further: int = 0) -> Any:
        place = self.builder.add(at, ir.Constant(_INT64, further)) if further else at
        return self.builder.gep(self._arrays[array], [place])

    def lanes(self, array: int, at: Any, n: int, kind: Any = _INT32) -> Any:
        pointer = self.builder.bitcast(self.address(array, at), ir.VectorType(kind, n).as_pointer())
        return self.builder.load(pointer, align=4)

    def store_eight(self, lanes: Any, array: int, at: Any) -> None:
        pointer = self.builder.bitcast(self.address(array, at), _EIGHT.as_pointer())
        self.builder.store(lanes, pointer, align=4)

    def in_all(self, value: Any, n: int, kind: Any = _INT32) -> Any:
        nothing = ir.Constant(ir.VectorType(kind, n), ir.Undefined)
        one = self.builder.insert_element(nothing, value, ir.Constant(_INT32, 0))
        return self.builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INT32, n), [0] * n))

    def sum_of_lanes(self, lanes: Any, n: int) -> Any:
        while n > 1:
            n //= 2
            low, high = (ir.Constant(ir.VectorType(_INT32, n), list(range(k, k + n))) for k in (0, n))
            halves = [self.builder.shuffle_vector(lanes, lanes, which) for which in (low, high)]
            lanes = self.builder.add(*halves)
        return self.widened(self.builder.extract_element(lanes, ir.Constant(_INT32, 0)))

    def bits(self, test: str, lanes: Any, value: Any, n: int) -> Any:
        is_so = self.builder.icmp_signed(test, lanes, self.in_all(value, n))
        return self.builder.bitcast(is_so, ir.IntType(n))

    def widened(self, bits: Any) -> Any:
        return self.builder.zext(bits, _INT64)


@_step
def any_of_eight(_: Any, docs: Any, at: Any, codes: Any, first: Any) -> Any:
    """Return a bit for each of docs[at : at + 32]: whether it is one of codes[first : first + 8]."""

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        rows = steps.lanes(0, steps.arguments[1], 32)
        differs = ir.Constant(ir.VectorType(ir.IntType(1), 32), [1] * 32)
        for i in range(8):
            code = steps.builder.load(steps.address(2, steps.arguments[3], i))
            unequal = steps.builder.icmp_signed("!=", rows, steps.in_all(code, 32))
            differs = steps.builder.and_(differs, unequal)
        return steps.widened(steps.builder.not_(steps.builder.bitcast(differs, ir.IntType(32))))

    return types.uint64(docs, types.intp, codes, types.intp), build


@_step
def equal_bits(_: Any, codes: Any, at: Any, code: Any) -> Any:
    """Return a bit for each of codes[at : at + 32]: whether it is `code`."""

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        lanes = steps.lanes(0, steps.arguments[1], 32)
        return steps.widened(steps.bits("==", lanes, steps.arguments[2], 32))

    return types.uint64(codes, types.intp, types.int32), build


@_step
def n_up_to(_: Any, ranks: Any, at: Any, depth: Any) -> Any:
    """Return how many of ranks[at : at + 8] are at most `depth`."""

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        lanes = steps.lanes(0, steps.arguments[1], 8)
        return steps.widened(steps.builder.ctpop(steps.bits("<=", lanes, steps.arguments[2], 8)))

    return types.int64(ranks, types.intp, types.int32), build


@_step
def lowest_bit(_: Any, bits: Any) -> Any:
    """Return the place of the lowest bit that is set, 64 where none is."""

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        return steps.builder.cttz(steps.arguments[0], _IF_ZERO_THE_WIDTH)

    return types.int64(types.uint64), build


@_step
def n_bits(_: Any, bits: Any) -> Any:
    """Return how many bits are set."""

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        return steps.builder.ctpop(steps.arguments[0])

    return types.int64(types.uint64), build


@_step
def store_bits(_: Any, ranks: Any, at: Any, base: Any, bits: Any) -> Any:
    """Write base + place of the eight lowest bits to ranks[at : at + 8]; return `bits` without them.

    Where fewer are set, base + 64 takes the room of the others.
    """

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        builder, (_, at, base, bits) = steps.builder, steps.arguments
        for i in range(8):
            rank = builder.add(base, builder.cttz(bits, _IF_ZERO_THE_WIDTH))
            builder.store(builder.trunc(rank, _INT32), steps.address(0, at, i))
            bits = builder.and_(bits, builder.sub(bits, ir.Constant(_INT64, 1)))
        return bits

    return types.uint64(ranks, types.intp, types.intp, types.uint64), build


@_step
def fill_eight(_: Any, array: Any, at: Any, value: Any) -> Any:
    """Write `value` to array[at : at + 8]."""

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        steps.store_eight(steps.in_all(steps.arguments[2], 8), 0, steps.arguments[1])
        return steps.nothing

    return types.none(array, types.intp, types.int32), build


@_step
def take_eight(_: Any, source: Any, at: Any, n: Any, target: Any, to: Any) -> Any:
    """Write source[at : at + 8] to target[to : to + 8], and -1 from the n-th on."""

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        builder, (_, at, n, _, to) = steps.builder, steps.arguments
        is_in = builder.icmp_signed(
            "<", ir.Constant(_EIGHT, list(range(8))), steps.in_all(builder.trunc(n, _INT32), 8)
        )
        taken = builder.select(is_in, steps.lanes(0, at, 8), ir.Constant(_EIGHT, [-1] * 8))
        steps.store_eight(taken, 3, to)
        return steps.nothing

    return types.none(source, types.intp, types.intp, target, types.intp), build


@_step
def look_up_eight(
    _: Any,
    docs: Any,
    first: Any,
    last: Any,
    codes: Any,
    begin: Any,
    values: Any,
    ranks: Any,
    at: Any,
    out: Any,
) -> Any:
    """Add to out[at : at + 8] the values of those of codes[begin : begin + 8] that are the docs of the ranks.

    The doc of a rank is docs[first + rank - 1], or docs[last] beyond it. `values` are eight, then zeros.
    """

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        builder, (_, first, last, _, begin, _, _, at, _) = steps.builder, steps.arguments
        held = steps.lanes(3, begin, 8)
        before = builder.sub(first, ir.Constant(_INT64, 1))
        for i in range(8):
            row = builder.add(before, steps.widened(builder.load(steps.address(6, at, i))))
            row = builder.select(builder.icmp_signed("<", row, last), row, last)
            bits = steps.bits("==", held, builder.load(steps.address(0, row)), 8)
            place = builder.cttz(builder.zext(bits, _INT32), _IF_ZERO_THE_WIDTH)
            value = builder.load(steps.address(5, steps.widened(place)))
            target = steps.address(8, at, i)
            builder.store(builder.add(value, builder.load(target)), target)
        return steps.nothing

    kinds = docs, types.intp, types.intp, codes, types.intp, values, ranks, types.intp, out
    return types.none(*kinds), build


@_step
def count_scores(_: Any, scores: Any, start: Any, n: Any, score: Any) -> Any:
    """Return how many of n scores from the `start`-th on are above `score`, and how many equal it.

    Scores are counted row after row. n is 32 or more; the second number stands in the upper 32 bits.
    """
    kind = ir.FloatType() if scores.dtype is types.float32 else ir.DoubleType()
    sixteen = ir.VectorType(_INT32, 16)

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        builder, (_, start, n, score) = steps.builder, steps.arguments
        wanted, none = steps.in_all(score, 16, kind), ir.Constant(sixteen, [0] * 16)
        counts = [cgutils.alloca_once_value(builder, none) for _ in range(4)]  # type: ignore[no-untyped-call]

        def count(at: Any, to: list[Any], is_new: Any = None) -> None:
            lanes = steps.lanes(0, builder.add(start, at), 16, kind)
            for number, test in zip(to, (">", "=="), strict=True):
                is_so = builder.fcmp_ordered(test, lanes, wanted)
                is_so = is_so if is_new is None else builder.and_(is_so, is_new)
                builder.store(builder.sub(builder.load(number), builder.sext(is_so, sixteen)), number)

        end, step = builder.and_(n, ir.Constant(_INT64, -32)), ir.Constant(_INT64, 32)
        with cgutils.for_range_slice(builder, ir.Constant(_INT64, 0), end, step) as (i, _):
            count(i, counts[:2])
            count(builder.add(i, ir.Constant(_INT64, 16)), counts[2:])
        rest = builder.sub(n, end)
        for k in (16, 32):  # up to two groups end the row; what they repeat is not new
            begin = builder.sub(n, ir.Constant(_INT64, k))
            first_new = steps.in_all(builder.trunc(builder.sub(ir.Constant(_INT64, k), rest), _INT32), 16)
            is_new = builder.icmp_signed(">=", ir.Constant(sixteen, list(range(16))), first_new)
            count(begin, counts[k // 16 * 2 - 2 : k // 16 * 2], is_new)
        above, equal = (
            steps.sum_of_lanes(builder.add(builder.load(counts[k]), builder.load(counts[k + 2])), 16)
            for k in (0, 1)
        )
        return builder.or_(above, builder.shl(equal, ir.Constant(_INT64, 32)))

    return types.int64(scores, types.intp, types.intp, score), build


@_step
def add_split(_: Any, values: Any, n: Any, sigma: Any, sums: Any) -> Any:
    """Add to sums[:8] what adding and taking away `sigma` leaves of each of n values, to sums[8:] the rest.

    n is a multiple of 8; value i is added in place i % 8.
    """
    eight = ir.VectorType(ir.DoubleType(), 8)

    def build(*given: Any) -> Any:
        steps = _Steps(*given)
        builder, (_, n, sigma, _) = steps.builder, steps.arguments
        sigmas, zero = steps.in_all(sigma, 8, ir.DoubleType()), ir.Constant(_INT64, 0)
        totals = [
            cgutils.alloca_once_value(builder, steps.lanes(3, ir.Constant(_INT64, k), 8, ir.DoubleType()))  # type: ignore[no-untyped-call]
            for k in (0, 8)
        ]
        with cgutils.for_range_slice(builder, zero, n, ir.Constant(_INT64, 8)) as (i, _):
            lanes = steps.lanes(0, i, 8, ir.DoubleType())
            kept = builder.fsub(builder.fadd(lanes, sigmas), sigmas)
            for total, part in zip(totals, (kept, builder.fsub(lanes, kept)), strict=True):
                builder.store(builder.fadd(builder.load(total), part), total)
        for k, total in zip((0, 8), totals, strict=True):
            target = builder.bitcast(steps.address(3, ir.Constant(_INT64, k)), eight.as_pointer())
            builder.store(builder.load(total), target, align=4)
        return steps.nothing

    return types.none(values, types.intp, types.float64, sums), build
