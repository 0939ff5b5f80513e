"""CodeMatrix files: round trips, and files that lie."""

from __future__ import annotations

import json
import mmap as mmap_module
import multiprocessing
import os
import pickle
import stat
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file

from nanogram import io
from nanogram.code_matrix import CodeMatrix
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.testing.code_matrix import check_code_matrix, same_matrix

CODES = {
    "1 bit": UniformCode(1),
    "8 bits": UniformCode(8),
    "ternary": StepCode([-1, 0, 1], [-0.4, 0.4]),
    "base 3": StepCode([-1, 0, 1], [-0.4, 0.4], "base3"),
    "table": StepCode([-2, -0.4, 0.5, 2], [-1, 0, 1]),
    "float16": FloatCode("float16"),
    "by column": UniformCode(4, low=np.linspace(-2, -1, 23), high=np.linspace(1, 3, 23)),
}


def make(name, n=19, m=23):
    return CodeMatrix.from_values(np.random.default_rng(0).standard_normal((n, m)), CODES[name], random_state=0)


def parts(path):
    """Header (as JSON) and body of a file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def assemble(path, header, body):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path


def load_or_refuse(path, **keywords):
    """The matrix of a file that may be damaged, or None where it is refused; anything else is a failure."""
    try:
        return CodeMatrix.load(path, **keywords)
    except io.FormatError as refusal:
        message = str(refusal)
    assert str(path) in message
    return None


def mapped(array):
    """Whether a memory map stands behind the array."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, (np.memmap, mmap_module.mmap))


# --------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", CODES)
def test_round_trip(tmp_path, name, mmap):
    Z = make(name)
    Z.save(tmp_path / "Z.safetensors")
    back = CodeMatrix.load(str(tmp_path / "Z.safetensors"), mmap=mmap)
    assert same_matrix(back, Z)
    check_code_matrix(back)
    assert mapped(back.storage) == mmap
    assert back.storage.ctypes.data % (64 if mmap else 4) == 0


@pytest.mark.parametrize("shape", [(0, 0), (0, 23), (5, 0), (1, 1)])
@pytest.mark.parametrize("name", ["base 3", "float16"])
@pytest.mark.parametrize("mmap", [False, True])
def test_round_trip_of_empty_matrices(tmp_path, name, shape, mmap):
    Z = make(name, *shape)
    Z.save(tmp_path / "Z")
    assert same_matrix(CodeMatrix.load(tmp_path / "Z", mmap=mmap), Z)


@pytest.mark.parametrize("name", CODES)
def test_any_safetensors_reader_reads_it(tmp_path, name):
    Z = make(name)
    Z.save(tmp_path / "Z.safetensors")
    np.testing.assert_array_equal(load_file(tmp_path / "Z.safetensors")["storage"], Z.storage)
    with safe_open(tmp_path / "Z.safetensors", "numpy") as file:
        fields = json.loads(file.metadata()["nanogram"])
    assert fields["format"] == "nanogram.CodeMatrix"
    assert fields["version"] == 1
    assert fields["shape"] == [19, 23]
    assert fields["layout"] == Z.code.layout


def test_bytes_of_the_file(tmp_path):
    Z = make("ternary", 1000, 800)
    Z.save(tmp_path / "Z")
    assert (tmp_path / "Z").stat().st_size <= Z.storage.nbytes + 1024


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "Z"
    make("1 bit").save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="disk full"):
            make("8 bits").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    make("8 bits").save(path)
    assert same_matrix(CodeMatrix.load(path), make("8 bits"))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and renames")
def test_saving_over_a_mapped_file(tmp_path):
    path = tmp_path / "Z"
    make("8 bits").save(path)
    Z = CodeMatrix.load(path, mmap=True)
    Z[::-1].save(path)
    assert same_matrix(Z, make("8 bits"))
    assert same_matrix(CodeMatrix.load(path), make("8 bits")[::-1])
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def _product_of(path, queue):
    queue.put(CodeMatrix.load(path, mmap=True) @ np.arange(23.0))


def test_another_process_maps_the_same_file(tmp_path):
    Z = make("by column")
    Z.save(tmp_path / "Z")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=_product_of, args=(tmp_path / "Z", queue))
    worker.start()
    np.testing.assert_array_equal(queue.get(timeout=120), Z @ np.arange(23.0))
    worker.join()


def test_missing_files_and_folders_stay_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        CodeMatrix.load(tmp_path / "none")
    with pytest.raises(OSError, match="directory"):
        CodeMatrix.load(tmp_path)
    with pytest.raises(io.FormatError, match="/dev/null: file: not a regular file"):
        CodeMatrix.load("/dev/null")


def test_format_errors_pickle():
    error = pickle.loads(pickle.dumps(io.FormatError("a.st", "shape", "wrong")))
    assert str(error) == "a.st: shape: wrong"
    assert isinstance(error, ValueError)


# --------------------------------------------------------------------------- headers that lie


def change_tensor(key, value):
    return lambda header: header["storage"].__setitem__(key, value)


def change_field(key, value):
    def change(header):
        fields = json.loads(header["__metadata__"]["nanogram"])
        fields[key] = value
        header["__metadata__"]["nanogram"] = json.dumps(fields)

    return change


LIES = {
    "dtype": (change_tensor("dtype", "F32"), "tensor 'storage': float32 of shape"),
    "unknown dtype": (change_tensor("dtype", "BF16"), "tensor 'storage': dtype: 'BF16' is not known"),
    "dtype type": (change_tensor("dtype", ["U32"]), "tensor 'storage': dtype"),
    "tensor shape": (change_tensor("shape", [2, 16, 2]), "tensor 'storage': uint32 of shape"),
    "tensor size": (change_tensor("shape", [2, 2, 17]), "tensor 'storage': data_offsets"),
    "negative size": (change_tensor("shape", [-2, -2, 16]), "tensor 'storage': shape"),
    "float size": (change_tensor("shape", [2.0, 2, 16]), "tensor 'storage': shape"),
    "true size": (change_tensor("shape", [True, 4, 16]), "tensor 'storage': shape"),
    "absurd size": (change_tensor("shape", [2**62, 2**62, 16]), "tensor 'storage': shape"),
    "many sizes": (change_tensor("shape", [1] * 1000), "tensor 'storage': shape"),
    "gap": (change_tensor("data_offsets", [4, 260]), "tensor 'storage': data_offsets: start at 4, expected 0"),
    "beyond the file": (change_tensor("data_offsets", [0, 2**40]), "tensor 'storage': data_offsets"),
    "backwards": (change_tensor("data_offsets", [256, 0]), "tensor 'storage': data_offsets"),
    "three offsets": (change_tensor("data_offsets", [0, 128, 256]), "tensor 'storage': data_offsets"),
    "extra key": (change_tensor("more", 1), "tensor 'storage': expected an object of"),
    "tensor": (lambda header: header.update(storage=3), "tensor 'storage': expected an object of"),
    "other name": (lambda header: header.update(other=header.pop("storage")), "tensors: expected only 'storage'"),
    "two tensors": (
        lambda header: header.update(more={"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}),
        "tensors: expected only 'storage'",
    ),
    "no metadata": (lambda header: header.pop("__metadata__"), "__metadata__: expected the one name"),
    "metadata list": (lambda header: header.update(__metadata__=[]), "__metadata__: not an object of strings"),
    "metadata number": (lambda header: header["__metadata__"].update(a=1), "__metadata__: not an object of strings"),
    "more metadata": (lambda header: header["__metadata__"].update(a="1"), "__metadata__: expected the one name"),
    "no json": (lambda header: header["__metadata__"].update(nanogram="{"), "__metadata__ nanogram: not valid JSON"),
    "list": (lambda header: header["__metadata__"].update(nanogram="[]"), "__metadata__ nanogram: not a JSON object"),
    "format": (change_field("format", "other"), "format: 'other'; expected 'nanogram.CodeMatrix'"),
    "version": (change_field("version", 2), "version: 2; this release reads version 1"),
    "version type": (change_field("version", True), "version: True"),
    "unknown field": (change_field("more", 1), "__metadata__ nanogram: expected the fields"),
    "shape": (change_field("shape", [19, 33]), "tensor 'storage': uint32 of shape"),
    "shape length": (change_field("shape", [19, 23, 1]), "shape: .* is not a pair of sizes"),
    "negative shape": (change_field("shape", [-19, 23]), "shape: .* is not a pair of sizes"),
    "huge shape": (change_field("shape", [2**70, 0]), "shape: .* is not a pair of sizes"),
    "float shape": (change_field("shape", [19.0, 23]), "shape: .* is not a pair of sizes"),
    "layout": (change_field("layout", "u4"), "layout: 'u4'; the code is stored in 'u2'"),
    "layout type": (change_field("layout", None), "layout: 'None'"),
    "code": (change_field("code", 3), "code: a code is stored as a JSON object"),
    "code kind": (change_field("code", {"kind": "evil"}), "code: code field 'kind'"),
    "undesigned code": (
        change_field("code", {"kind": "step", "levels": 3, "thresholds": None, "storage": "auto"}),
        "code: .*not designed",
    ),
    "code of other columns": (
        change_field("code", UniformCode(2, low=[-1.0, -2.0], high=[1.0, 1.0]).to_json()),
        "code: made for 2 columns",
    ),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("mmap", [False, True])
def test_headers_that_lie(tmp_path, lie, mmap):
    path = tmp_path / "Z.safetensors"
    make("ternary").save(path)
    header, body = parts(path)
    change, message = LIES[lie]
    change(header)
    with pytest.raises(io.FormatError, match=message) as caught:
        CodeMatrix.load(assemble(path, header, body), mmap=mmap)
    assert str(path) in str(caught.value)


RAW = {
    "empty": (b"", "header length"),
    "seven bytes": (b"\0" * 7, "header length"),
    "zero header": (b"\0" * 300, "header length: 0 bytes"),
    "absurd header": (b"\xff" * 300, "header length"),
    "header beyond the file": ((1000).to_bytes(8, "little") + b"{}", "header length: 1000 bytes in a file of 10"),
    "no object": ((2).to_bytes(8, "little") + b"[]", "header: not a JSON object"),
    "no JSON": ((2).to_bytes(8, "little") + b"{]", "header: not valid JSON"),
    "no UTF-8": ((4).to_bytes(8, "little") + b"{\xff\xfe}", "header: not valid JSON"),
    "duplicate": ((14).to_bytes(8, "little") + b'{"a":1,"a":2}\n', "header: not valid JSON .a name occurs twice"),
    "NaN": ((9).to_bytes(8, "little") + b'{"a":NaN}', "header: not valid JSON .NaN is not JSON"),
    "huge number": ((11).to_bytes(8, "little") + b'{"a":1e999}', "header: not valid JSON .a number is too large"),
    "endless integer": ((5006).to_bytes(8, "little") + b'{"a":' + b"9" * 5000 + b"}", "header: not valid JSON"),
    "deep": ((100005).to_bytes(8, "little") + b'{"a":' + b"[" * 100000, "header: not valid JSON"),
    "nothing in it": ((2).to_bytes(8, "little") + b"{}", "__metadata__: expected the one name"),
    "only data": ((2).to_bytes(8, "little") + b"{}abc", "data: 3 bytes; the header describes 0"),
}


@pytest.mark.parametrize("kind", RAW)
def test_files_that_are_none(tmp_path, kind):
    data, message = RAW[kind]
    path = tmp_path / "Z"
    path.write_bytes(data)
    with pytest.raises(io.FormatError, match=message):
        CodeMatrix.load(path)


def test_a_pickle_is_not_read(tmp_path):
    (tmp_path / "Z").write_bytes(pickle.dumps(make("1 bit")))
    with pytest.raises(io.FormatError):
        CodeMatrix.load(tmp_path / "Z")


# --------------------------------------------------------------------------- bodies that lie


def damaged(path, name, change):
    make(name).save(path)
    header, body = parts(path)
    words = np.frombuffer(bytearray(body), dtype="<u4").reshape(header["storage"]["shape"])
    change(words)
    return assemble(path, header, words.tobytes())


def row_16(words):
    words[1, 0, 5] = 1


def column_23(words):
    words[0, -1, 0] |= np.uint32(1) << np.uint32(31)


def code_3(words):
    words[0, 0, 0] = 3


def byte_243(words):
    words[0, 0, 0] = 243


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("1 bit", row_16, "codes: not 0 beyond the last row"),
        ("8 bits", row_16, "codes: not 0 beyond the last row"),
        ("1 bit", column_23, "codes of rows 0 to 18: not 0 beyond the last column"),
        ("ternary", code_3, "codes of rows 0 to 18: the code has 3 levels"),
        ("base 3", byte_243, "codes of rows 0 to 18: a byte above 242"),
    ],
)
def test_codes_out_of_range(tmp_path, name, change, message):
    path = damaged(tmp_path / "Z", name, change)
    for keywords in ({}, {"mmap": True, "check_codes": True}):
        with pytest.raises(io.FormatError, match=message):
            CodeMatrix.load(path, **keywords)
    # Unchecked, they are numbers like others: nothing crashes.
    Z = CodeMatrix.load(path, mmap=True)
    assert np.isfinite(Z @ np.ones(23)).all()
    assert np.isfinite(Z.T @ np.ones(19)).all()
    assert np.isfinite(Z.gram()).all()
    assert np.isfinite(Z.kernel()).all()


# --------------------------------------------------------------------------- fuzzing


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    folder = tmp_path_factory.mktemp("intact")
    for name in CODES:
        make(name).save(folder / name)
    return {name: (folder / name).read_bytes() for name in CODES}


def use(Z):
    """What a caller would do with a matrix that was let through."""
    Z = CodeMatrix(Z.storage, Z.shape, Z.code)
    assert Z.storage.nbytes < 10_000
    if max(Z.shape) < 10_000:
        with np.errstate(all="ignore"):
            _ = Z @ np.ones(Z.shape[1]), Z.T @ np.ones(Z.shape[0]), Z.toarray()


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", CODES)
def test_truncation_at_any_byte(tmp_path, intact, name, mmap):
    data = intact[name]
    path = tmp_path / "Z"
    # Each header is read anew; every seventh place, and all near the ends and the end of the header.
    length = int.from_bytes(data[:8], "little")
    places = {*range(0, len(data), 7), *range(20), *range(length, length + 16), *range(len(data) - 20, len(data))}
    for size in sorted(places):
        path.write_bytes(data[:size])
        assert load_or_refuse(path, mmap=mmap) is None
    path.write_bytes(data + b"\0")
    assert load_or_refuse(path, mmap=mmap) is None


@settings(max_examples=300)
@given(data=st.data(), name=st.sampled_from(sorted(CODES)), mmap=st.booleans())
def test_flipped_bits(tmp_path_factory, intact, data, name, mmap):
    changed = bytearray(intact[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.getbasetemp() / "flipped"
    path.write_bytes(changed)
    Z = load_or_refuse(path, mmap=mmap, check_codes=True)
    if Z is not None:
        use(Z)


@settings(max_examples=200)
@given(
    data=st.data(),
    number=st.one_of(st.integers(-(2**70), 2**70), st.sampled_from([2**31, 2**32, 2**47, 2**48, 2**63, 2**64 - 1])),
)
def test_absurd_numbers_allocate_nothing(tmp_path_factory, intact, data, number):
    """Each number of the header replaced by any other: refused, or equal in effect, within a few hundred kB."""
    original = intact["by column"]
    length = int.from_bytes(original[:8], "little")
    header = json.loads(original[8 : 8 + length])
    fields = json.loads(header["__metadata__"]["nanogram"])
    target = data.draw(st.sampled_from(["shape", "offsets", "matrix", "version", "bits", "length"]))
    position = data.draw(st.integers(0, 1))
    if target == "shape":
        header["storage"]["shape"][position] = number
    elif target == "offsets":
        header["storage"]["data_offsets"][position] = number
    elif target == "matrix":
        fields["shape"][position] = number
    elif target == "version":
        fields["version"] = number
    elif target == "bits":
        fields["code"]["bits"] = number
    header["__metadata__"]["nanogram"] = json.dumps(fields)
    text = json.dumps(header).encode()
    size = len(text) if target != "length" else number % 2**64
    path = tmp_path_factory.getbasetemp() / "absurd"
    path.write_bytes(size.to_bytes(8, "little") + text + original[8 + length :])
    tracemalloc.start()
    try:
        Z = load_or_refuse(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400_000
    if Z is not None:
        use(Z)


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(data)
    assert load_or_refuse(path) is None


# --------------------------------------------------------------------------- io


def test_write_refuses_what_the_format_does_not_hold(tmp_path):
    with pytest.raises(ValueError, match="array 'a' has dtype complex128"):
        io.write(tmp_path / "a", {"a": np.zeros(2, complex)}, {})
    assert not list(tmp_path.iterdir())


def test_several_arrays_are_aligned_and_in_place(tmp_path):
    arrays = {
        "b": np.arange(3, dtype=np.uint8),
        "d": np.arange(5.0),
        "f": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "big": np.arange(4, dtype=">i8"),
        "none": np.zeros((0, 3), np.float16),
        "flag": np.array(True),
    }
    path = tmp_path / "a"
    io.write(path, arrays, {"who": "test"})
    with path.open("rb") as file:
        header = io.read_header(file, path)
        assert header.metadata == {"who": "test"}
        for mmap in (False, True):
            for name, array in arrays.items():
                tensor = header.tensors[name]
                assert tensor.start % tensor.dtype.itemsize == 0
                np.testing.assert_array_equal(io.read_tensor(file, tensor, path, mmap=mmap), array)
    for name, array in load_file(path).items():
        np.testing.assert_array_equal(array, arrays[name])
