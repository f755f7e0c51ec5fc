"""Pickles are read as plain values and arrays by an allow-list; all else is refused with its reason."""

import collections
import contextlib
import pickle
import pickletools
import struct
from typing import Any

import numpy as np
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays import pickles
from fire_toolkit.formats.arrays.pickles import Name, load_plain

REFERENCES = b"]" + b"".join(b"q%c](" % n + b"h%c" % n * 10 + b"e" for n in range(12)) + b"."


def load(raw: bytes, **options: Any) -> Any:
    return load_plain(raw, "f.pkl", **options)


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.binary(max_size=300))
scalars |= st.floats(allow_nan=False)
plain = st.recursive(
    scalars | st.frozensets(st.integers() | st.text()) | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.text(), st.integers()), inner, max_size=5)
        | st.tuples(inner, inner)
        | st.tuples(inner, inner, inner, inner)
    ),
    max_leaves=20,
)


@settings(max_examples=examples(150))
@given(plain, st.integers(0, 5))
def test_plain_values_come_back_equal_in_every_protocol(value: object, protocol: int) -> None:
    assert load(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(6, dtype=">i4"),
        np.array([1.5, -np.inf, np.nan], dtype=np.float16),
        np.array([[True], [False]]),
        np.array(["café", "dog"]),
        np.array([b"ab", b"c"]),
        np.empty((0, 3)),
        np.array(4.5),
        np.array([{"a": [1]}, None], dtype=object),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_numpy_arrays_come_back_equal(array: Any, protocol: int) -> None:
    found = load(pickle.dumps({"sims": array}, protocol))["sims"]
    assert (array.dtype.newbyteorder("="), array.shape) == (found.dtype.newbyteorder("="), found.shape)
    np.testing.assert_array_equal(array, found)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_numpy_1_module_names_are_known_too(protocol: int) -> None:
    raw = pickle.dumps(np.arange(3), protocol).replace(b"numpy._core", b"numpy.core")
    if protocol >= 4:  # the name's length stands before it
        raw = raw.replace(b"\x8c\x16numpy.core.multiarray", b"\x8c\x15numpy.core.multiarray")
        raw = raw.replace(b"\x8c\x13numpy.core.numeric", b"\x8c\x12numpy.core.numeric")
        raw = raw[:2] + raw[11:]  # without its frame, which would be a byte too long
    assert load(raw).tolist() == [0, 1, 2]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_numpy_scalars_and_dict_kinds_come_back_as_plain_values(protocol: int) -> None:
    value = {
        "float": np.float32(1.5),
        "bool": np.bool_(True),
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "default": collections.defaultdict(list, {"q": ["d"]}),
        "counter": collections.Counter("aab"),
        "set": {1, 2},
        "bytes": bytearray(b"\x00\xff"),
        "dtype": np.dtype("<f4"),
    }
    found = load(pickle.dumps(value, protocol))
    assert found == value
    assert list(found["ordered"]) == ["b", "a"]
    assert type(found["ordered"]) is dict


def test_a_byte_string_of_python_2_is_text_where_it_is_utf_8() -> None:
    def short(raw: bytes) -> bytes:
        return b"U" + bytes([len(raw)]) + raw

    assert load(b"\x80\x02(" + short("café".encode()) + short(b"\xff\x00") + b"l.") == ["café", b"\xff\x00"]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"cos\nsystem\n(S'ls'\ntR.", "refers to 'os.system'"),
        (b"(S'ls'\nios\nsystem\n.", "refers to 'os.system'"),
        (b"\x82\x01.", "damaged or truncated"),
        (b"P7\n.", "unsupported persistent id"),
        (b"cnumpy\nndarray\n.", "refers to 'numpy.ndarray'"),
        (b"]q\x00h\x00a.", "contains itself"),
        (b"]" * 100 + b"a" * 99 + b".", "nested deeper than 64"),
        (b"}]N" + b"s.", "a key is a list"),
        (b"}(((tt" + b"Ns.", "a key is a tuple"),
        (b"N", "damaged or truncated"),
        (b"", "damaged or truncated"),
        (b".", "damaged or truncated"),
        (b"\x8e" + struct.pack("<Q", 1 << 60) + b"x.", "damaged or truncated"),
        (REFERENCES, "stands for ... values through references"),
        (b"}N" + b"\x85" * 300_000 + b"Ns.", "a key is a tuple"),  # before it is hashed
        (b"S'\\q'\n.", "damaged or truncated pickle"),  # Python warns of the escape
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_plain_pickle_is_refused_with_its_reason(raw: bytes, said: str) -> None:
    refused(said, load, raw)


def test_a_place_of_the_memo_far_beyond_the_file_takes_no_memory() -> None:
    assert load(b"N\x85" + b"r\xff\xff\xff\x7f.") == (None,)


def _state(dtype: str, content: bytes, shape: bytes) -> bytes:
    spec = b"U" + bytes([len(dtype)]) + dtype.encode()
    start = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
    described = (
        b"cnumpy\ndtype\n" + spec + b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    return b"\x80\x02" + start + b"(K\x01" + shape + described + b"\x89" + content + b"tb."


ONE = b"K\x01\x85"
VERY_MANY = b"(" + (b"\x8a\x08" + b"\xff" * 7 + b"\x0f") * 80_000 + b"t"
OF_TWO_MILLION_DIGITS = b"\x8b\x40\x42\x0f\x00" + b"\x01" * 900_000 + b"\x85"


OF_EIGHT = b"U\x08AAAAAAAA"


@pytest.mark.parametrize(
    ("dtype", "content", "shape", "said"),
    [
        (
            "f8",
            OF_EIGHT,
            b"\x8a\x06\xff\xff\xff\xff\xff\x7f\x85",
            "8 bytes for an array of shape",
        ),
        ("f8", OF_EIGHT, VERY_MANY, "maximum supported dimension"),
        ("f8", OF_EIGHT, OF_TWO_MILLION_DIGITS, "damaged"),
        ("O8", OF_EIGHT, ONE, "array of size 8 into shape (1,)"),
        ("V8", OF_EIGHT, ONE, "type 'V8'"),
        ("f8", b"U\x07AAAAAAA", ONE, "7 bytes for an array of shape (1,) and type float64"),
        ("b1", b"U\x01\x07", ONE, "booleans"),
        ("U1", b"U\x04\xff\xff\xff\x7f", ONE, "invalid character"),
        ("f8,O8", OF_EIGHT, ONE, "type 'f8,O8'"),
        ("S0", b"U\x00", ONE, "values of no byte"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_array_content_that_its_type_does_not_allow_is_refused(
    dtype: str, content: bytes, shape: bytes, said: str
) -> None:
    refused(said, load, _state(dtype, content, shape))


def test_more_bytes_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "MOST_BYTES", 100)
    refused("f.pkl: a pickle of more than 100 bytes is not read", load, pickle.dumps("x" * 200))


def test_builders_and_persistent_ids_of_the_caller_are_used() -> None:
    raw = b"\x80\x02clib\nbuild\n(clib\nKind\nK\x02tR."
    known = {"lib.build": lambda kind, n: (str(kind), n), "lib.Kind": Name("lib.Kind")}
    assert load(raw, known=known) == ("lib.Kind", 2)
    assert load(b"\x80\x02U\x01sQ.", persistent=lambda key: [key]) == ["s"]
    refused("refers to 'lib.Kind'", load, b"\x80\x02clib\nKind\n.", persistent=lambda key: key)


_OPCODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from([*_OPCODES, b"K\x01", b"U\x01a", b"h\x00", b"q\x00"]), max_size=30))
def test_any_order_of_instructions_is_a_value_or_a_format_error(opcodes: list[bytes]) -> None:
    with contextlib.suppress(FormatError):
        load(b"".join(opcodes) + b".")


@settings(max_examples=examples(60))
@given(st.integers(0, 400), st.sampled_from([2, 4, 5]))
def test_a_cut_pickle_is_a_format_error(length: int, protocol: int) -> None:
    value = {"clip": [["a", "dog"], ["b"]], "sims": np.arange(4.0), "more": list(range(30))}
    raw = pickle.dumps(value, protocol)
    refused("", load, raw[: min(length, len(raw) - 1)])
