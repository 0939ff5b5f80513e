"""Loaders: where files are looked for, how sets are cut, what damage is reported as; models of rows."""

import urllib.error
import zipfile

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from nanogram import datasets
from nanogram.data import files
from nanogram.data.sample import SAMPLE_PATH

SHAPES = {
    "mnist": ((60000, 784), (10000, 784)),
    "fashion_mnist": ((60000, 784), (10000, 784)),
    "a9a": ((32561, 123), (16281, 123)),
    "ijcnn1": ((49990, 22), (91701, 22)),
    "cifar10_embeddings": ((5000, 1280), (5000, 1280)),
}


def needs(name):
    if files.find(name) is None:
        pytest.skip(f"{files.FILES[name].file} is not here (NANOGRAM_DATA)")


@pytest.fixture
def no_network(monkeypatch):
    def refused(**options):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refused)


# ---------------------------------------------------------------- the sample


def test_the_sample_is_small_and_of_real_data():
    assert SAMPLE_PATH.stat().st_size < 1_500_000
    digits = datasets.load_sample()
    assert digits.X_train.shape == (6000, 784)
    assert digits.X_test.shape == (1000, 784)
    assert digits.X.dtype == np.uint8
    # In proportion: the rarest digit (5) is 9.0 % of MNIST, the commonest (1) 11.2 %.
    counts = np.bincount(digits.y_train)
    assert counts.min() == 542
    assert counts.max() == 674
    cover = datasets.load_sample("covtype")
    assert cover.X.shape == (4000, 54)
    assert set(cover.y.tolist()) == {0, 1}
    assert len(cover.feature_names) == 54
    protein = datasets.load_sample("protein")
    assert protein.X.shape == (3000, 9)
    assert len(protein.feature_names) == 9
    for bunch in (digits, cover, protein):
        assert len(bunch.y) == len(bunch.X)
        assert bunch.n_train == len(bunch.X_train)
        assert bunch.source in bunch.DESCR
        assert np.shares_memory(bunch.X, bunch.X_test)
    with pytest.raises(ValueError, match="name='cifar'"):
        datasets.load_sample("cifar")


def test_the_sample_can_be_learnt_from():
    digits = datasets.load_sample()
    scale = 1 / 255
    gram = (digits.X_train * scale).T @ (digits.X_train * scale) + 10 * np.eye(784)
    targets = np.eye(10)[digits.y_train]
    weights = np.linalg.solve(gram, (digits.X_train * scale).T @ targets)
    accuracy = ((digits.X_test * scale @ weights).argmax(axis=1) == digits.y_test).mean()
    # A linear model reaches 86 % on all of MNIST.
    assert accuracy > 0.8


def test_sample_rows_are_not_on_both_sides():
    for name in ("mnist", "covtype", "protein"):
        bunch = datasets.load_sample(name)
        train = {row.tobytes() for row in bunch.X_train}
        shared = sum(row.tobytes() in train for row in bunch.X_test)
        # The whole protein set repeats rows; the other two do not.
        assert shared <= (0.05 * len(bunch.X_test) if name == "protein" else 0)


# ---------------------------------------------------------------- looking for files


def write(folder, name, **arrays):
    path = folder / files.FILES[name].file
    np.savez_compressed(path, **arrays)
    return path


def test_where_files_are_looked_for(tmp_path, monkeypatch):
    here, named, passed = tmp_path / "here", tmp_path / "named", tmp_path / "passed"
    for folder in (here / "shared" / "data", named, passed):
        folder.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.delenv("NANOGRAM_DATA", raising=False)
    assert here / "shared" / "data" in files.folders()
    (here / "deep").mkdir()
    monkeypatch.chdir(here / "deep")
    assert here / "shared" / "data" in files.folders()
    monkeypatch.setenv("NANOGRAM_DATA", str(named))
    assert files.folders() == [named]
    assert files.folders(passed) == [passed]
    write(named, "ijcnn1", X=np.ones((3, 2)), y=np.ones(3), n_train=2, source="s")
    assert datasets.available() == {"ijcnn1": str(named / "ijcnn1.npz")}
    assert datasets.fetch_ijcnn1().X_test.shape == (1, 2)
    assert datasets.available(passed) == {}


def test_a_missing_file_says_where_it_was_looked_for_and_what_to_set(tmp_path, monkeypatch, no_network):
    with pytest.raises(FileNotFoundError) as error:
        datasets.fetch_mnist(data_home=tmp_path)
    for part in ("mnist.npz", str(tmp_path), "mnist_784, version 1", "no network", "NANOGRAM_DATA", "data_home="):
        assert part in str(error.value)
    with pytest.raises(FileNotFoundError, match="download=False kept OpenML"):
        datasets.fetch_mnist(data_home=tmp_path, download=False)
    for name in ("ijcnn1", "eeg", "uci:iris", "uci_regression:wine", "cifar10_embeddings", "fsdd"):
        with pytest.raises(FileNotFoundError, match=r"OpenML does not have it|download=False"):
            datasets.fetch(name, data_home=tmp_path)


def test_names_and_options():
    for name in ("minst", "uci", "mnist:7", ""):
        with pytest.raises(ValueError, match="is not a data set: mnist, "):
            datasets.fetch(name)
    with pytest.raises(TypeError, match="folds is no option of 'mnist', which takes classes, download"):
        datasets.fetch("mnist", folds=3)


@pytest.mark.parametrize(
    "damage", ["truncated", "flipped", "text", "empty", "pickle", "keys", "lengths", "n_train", "npy"]
)
def test_damaged_files_are_reported_as_such(tmp_path, damage):
    random = np.random.default_rng(0)
    arrays = {"X": random.normal(size=(50, 4)), "y": np.ones(50), "n_train": 20, "source": "s"}
    if damage == "pickle":
        arrays["X"] = np.array([{"a": 1}] * 50, dtype=object)
    if damage == "keys":
        del arrays["y"]
    if damage == "lengths":
        arrays["y"] = np.ones(49)
    if damage == "n_train":
        arrays["n_train"] = 51
    path = write(tmp_path, "ijcnn1", **arrays)
    raw = bytearray(path.read_bytes())
    if damage == "truncated":
        raw = raw[: len(raw) // 2]
    if damage == "flipped":
        raw[300] ^= 0xFF
    if damage == "text":
        raw = bytearray(b"not an archive")
    if damage == "empty":
        raw = bytearray()
    path.write_bytes(raw)
    if damage == "npy":
        with path.open("wb") as file:
            np.save(file, np.ones(3))
    with pytest.raises(ValueError, match=r"ijcnn1.npz is (damaged|not the file expected)"):
        datasets.fetch_ijcnn1(data_home=tmp_path)


def test_flipped_bits_are_found_or_harmless(tmp_path):
    random = np.random.default_rng(0)
    whole = {"X": random.normal(size=(20, 3)), "y": np.arange(20), "n_train": np.array(7), "source": np.array("s")}
    path = write(tmp_path, "ijcnn1", **whole)
    raw = path.read_bytes()
    found = 0
    for _ in range(300):
        spoilt = bytearray(raw)
        spoilt[random.integers(len(raw))] ^= 1 << random.integers(8)
        path.write_bytes(spoilt)
        try:
            arrays = files.load("ijcnn1", tmp_path)
        except ValueError:
            found += 1
        else:
            assert all(np.array_equal(arrays[key], whole[key]) for key in whole)
    # Times, permissions and the like may flip unnoticed; the arrays may not.
    assert found > 150


# ---------------------------------------------------------------- OpenML


def test_openml_takes_the_place_of_a_missing_file(tmp_path, monkeypatch):
    asked = {}

    def fake(**options):
        asked.update(options)
        random = np.random.default_rng(0)
        X = (random.random((45730, 9)) * 100).round(3)
        return Bunch(data=X, target=X[:, 0] / 5, feature_names=[f"F{i}" for i in range(1, 10)])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fake)
    bunch = datasets.fetch_protein(data_home=tmp_path)
    assert (asked["name"], asked["version"], asked["target_column"]) == ("physicochemical-protein", 1, "RMSD")
    assert bunch.X_train.shape == (36584, 9)
    assert bunch.feature_names == [f"F{i}" for i in range(1, 10)]
    assert "openml.org" in bunch.source


def test_openml_rows_that_are_not_the_ones_expected_are_refused(tmp_path, monkeypatch):
    def answer(shape=(48842, 123), value=0.0, positives=7841):
        def fake(**options):
            X, y = np.full(shape, value), np.where(np.arange(shape[0]) < positives, "1", "-1")
            return Bunch(data=X, target=y, feature_names=[str(i) for i in range(shape[1])])

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fake)

    answer()
    assert datasets.fetch_a9a(data_home=tmp_path).X_train.dtype == np.uint8
    for change, message in (
        ({"shape": (10, 123)}, r"X has shape \(10, 123\) where \(48842, 123\)"),
        ({"value": 0.5}, "not the integers expected"),
        ({"positives": 7000}, "first 32561 rows are not the training rows"),
    ):
        answer(**change)
        with pytest.raises(FileNotFoundError, match=message):
            datasets.fetch_a9a(data_home=tmp_path)


# ---------------------------------------------------------------- cuts of small files made here


def test_uci_sets_scaled_apart_are_refused_or_standardised_apart(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)).astype(np.float32)
    X[30:] += 100
    write(
        tmp_path, "uci",
        names=["good", "soybean"], scale_mismatch=["soybean"], source="s",
        good__X=X, good__y=np.arange(40) % 2, good__n_train=0,
        soybean__X=X, soybean__y=np.arange(40) % 2, soybean__n_train=30,
    )  # fmt: skip
    good = datasets.fetch("uci:good", data_home=tmp_path)
    assert good.X.shape == (40, 3)
    assert "X_train" not in good
    assert set(good.test_fold.tolist()) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match=r"another scale than its training rows.*mismatch='standardize'"):
        datasets.fetch_uci("soybean", data_home=tmp_path)
    both = datasets.fetch_uci("soybean", mismatch="standardize", data_home=tmp_path)
    for part in (both.X_train, both.X_test):
        np.testing.assert_allclose(part.mean(axis=0), 0, atol=1e-5)
    with pytest.raises(ValueError, match="'bad' is not one of the 2 sets of uci: good, soybean"):
        datasets.fetch_uci("bad", data_home=tmp_path)
    assert datasets.uci_names(data_home=tmp_path, n_rows=(1, 39)) == []


def test_windows_of_speech_stay_within_their_utterance(tmp_path):
    X = np.arange(1, 13, dtype=np.float16)[:, None] * np.ones(2, dtype=np.float16)
    write(
        tmp_path, "fsdd",
        X=X, y=np.repeat([3, 4, 5], 4).astype(np.uint8), utt_start=[0, 4, 8, 12], utt_digit=[3, 4, 5],
        utt_speaker=[0, 0, 0], utt_rec=[0, 5, 6], source="s",
    )  # fmt: skip
    bunch = datasets.fetch_fsdd(context=1, standardize=False, heldout_size=0.5, data_home=tmp_path)
    assert bunch.X_test[:, ::2].tolist() == [[1, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 4]]
    assert bunch.y_test.tolist() == [3] * 4
    assert {len(bunch.y_train), len(bunch.y_heldout)} == {4}
    assert set(bunch.utterance_train) | set(bunch.utterance_heldout) == {1, 2}
    assert bunch.feature_names[0] == "band0_frame-1"
    with pytest.raises(ValueError, match="context=-1"):
        datasets.fetch_fsdd(context=-1, data_home=tmp_path)


def test_windows_of_eeg_are_split_by_segment(tmp_path):
    X = (np.arange(20)[:, None] * 1000 + np.arange(25)).astype(np.int16)
    write(tmp_path, "eeg", X=X, y=np.repeat(np.arange(5), 4), names=["n"] * 20, source="s")
    bunch = datasets.fetch_eeg(window=10, test_size=0.25, data_home=tmp_path)
    assert bunch.X_train.shape == (2 * 3 * 2, 10)
    assert bunch.X_test.shape == (2 * 1 * 2, 10)
    assert not set(bunch.segment_train) & set(bunch.segment_test)
    for part in ("train", "test"):
        windows, owner = bunch[f"X_{part}"], bunch[f"segment_{part}"]
        np.testing.assert_array_equal(windows // 1000, np.broadcast_to(owner[:, None], windows.shape))
        np.testing.assert_array_equal(bunch[f"y_{part}"], owner // 4 == 4)  # B is 0, E is 1
    for options, message in (
        ({"sets": "BB"}, "sets='BB'"),
        ({"sets": "F"}, "sets='F'"),
        ({"window": 26}, "window=26"),
        ({"rows": "samples"}, "rows='samples' must be 'windows' or 'instants'"),
        ({"rows": "instants", "window": 4, "test_size": 1.0}, "test_size=1"),
    ):
        with pytest.raises(ValueError, match=message):
            datasets.fetch_eeg(data_home=tmp_path, **options)


def test_instants_of_eeg_have_a_column_for_each_segment(tmp_path):
    X = (np.arange(20)[:, None] * 1000 + np.arange(25)).astype(np.int16)
    write(tmp_path, "eeg", X=X, y=np.repeat(np.arange(5), 4), names=["n"] * 20, source="s")
    whole = datasets.fetch_eeg(rows="instants", sets="EB", window=4, test_size=0, data_home=tmp_path)
    assert whole.X_test.shape == (0, 4)
    np.testing.assert_array_equal(whole.X_train, np.concatenate([X[16:].T, X[4:8].T]))
    np.testing.assert_array_equal(whole.y_train, np.repeat([0, 1], 25))
    np.testing.assert_array_equal(whole.instant_train, np.tile(np.arange(25), 2))
    # 25 instants are seven stretches of up to four, two of which are test rows.
    split = datasets.fetch_eeg(rows="instants", sets="EB", window=4, test_size=0.3, data_home=tmp_path)
    stretches = {part: set(split[f"instant_{part}"] // 4) for part in ("train", "test")}
    assert (len(stretches["train"]), len(stretches["test"])) == (5, 2)
    assert not stretches["train"] & stretches["test"]
    assert len(split.y_train) + len(split.y_test) == 50
    for part in ("train", "test"):
        np.testing.assert_array_equal(split[f"X_{part}"] % 1000, np.tile(split[f"instant_{part}"][:, None], 4))
        np.testing.assert_array_equal(split[f"X_{part}"][:, 0] // 1000, np.where(split[f"y_{part}"] == 0, 16, 4))
    other = datasets.fetch_eeg(rows="instants", sets="EB", window=4, test_size=0.3, seed=1, data_home=tmp_path)
    assert set(other.instant_test) != set(split.instant_test)
    write(tmp_path, "eeg", X=X, y=np.repeat(np.arange(5), [3, 5, 4, 4, 4]), names=["n"] * 20, source="s")
    with pytest.raises(ValueError, match="sets AB differ"):
        datasets.fetch_eeg(rows="instants", sets="AB", window=4, data_home=tmp_path)


# ---------------------------------------------------------------- the real files, where they are


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_sets_with_a_given_split(name):
    needs(name)
    bunch = datasets.fetch(name, download=False)
    assert (bunch.X_train.shape, bunch.X_test.shape) == SHAPES[name]
    assert len(bunch.y_train) == len(bunch.X_train)


@pytest.mark.slow
def test_pairs_of_digits():
    needs("mnist")
    pair = datasets.fetch_mnist(classes=(6, 8))
    # SPECTRUM 4.1 counts 5,918 sixes and 5,851 eights.
    assert np.unique(pair.y_train, return_counts=True)[1].tolist() == [5918, 5851]
    with pytest.raises(ValueError, match="at least two of"):
        datasets.fetch_mnist(classes=(7, 11))


@pytest.mark.slow
def test_covtype_as_in_the_paper():
    needs("covtype")
    bunch = datasets.fetch_covtype()
    # LP Table 3: 418k, 46k, 116k.
    assert [len(bunch[f"y_{part}"]) for part in ("train", "heldout", "test")] == [418329, 46481, 116202]
    np.testing.assert_allclose(bunch.X_train[:, :10].std(axis=0, dtype=np.float64), 1, rtol=1e-4)
    assert set(np.unique(bunch.X_train[:, 10:])) == {0, 1}
    share = sum(bunch[f"y_{part}"].sum(dtype=int) for part in ("train", "heldout", "test")) / 581012
    assert share == pytest.approx(283301 / 581012)


@pytest.mark.slow
def test_the_other_sets():
    needs("eeg")
    eeg = datasets.fetch_eeg()
    assert (eeg.X_train.shape, eeg.X_test.shape) == ((6400, 100), (1600, 100))
    instants = datasets.fetch_eeg(rows="instants", test_size=0)
    assert instants.X_train.shape == (2 * 4097, 100)
    needs("fsdd")
    speech = datasets.fetch_fsdd()
    assert speech.X_train.shape[1] == 440
    assert sum(len(speech[f"y_{part}"]) for part in ("train", "heldout", "test")) == 125237
    needs("protein")
    assert datasets.fetch_protein().X_train.shape == (36584, 9)


@pytest.mark.slow
def test_all_uci_sets():
    needs("uci")
    needs("uci_regression")
    assert len(datasets.uci_names()) == 117
    apart = {"annealing", "hill-valley", "horse-colic", "image-segmentation", "hayes-roth", "soybean", "spect"}
    for name in datasets.uci_names():
        if name in apart:
            with pytest.raises(ValueError, match="another scale"):
                datasets.fetch_uci(name)
        assert len(datasets.fetch_uci(name, mismatch="standardize").X) >= 10
    assert len(datasets.uci_names("regression")) == 31
    for name in datasets.uci_names("regression"):
        bunch = datasets.fetch_uci_regression(name, fold=9)
        assert abs(bunch.y_train.mean(dtype=np.float64)) < 1e-3 * max(bunch.y_train.std(), 1e-3)
        assert np.isfinite(bunch.X_test).all()


@pytest.mark.slow
def test_the_sample_is_what_its_script_makes(tmp_path, monkeypatch):
    for name in ("mnist", "covtype", "protein"):
        needs(name)
    import importlib.util
    from pathlib import Path

    script = Path(__file__).parents[1] / "tools" / "make_sample.py"
    spec = importlib.util.spec_from_file_location("make_sample", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "SAMPLE_PATH", tmp_path / "sample.npz")
    monkeypatch.setattr("sys.argv", ["make_sample.py"])
    module.main()
    # Another zlib may pack the same arrays in other bytes.
    with zipfile.ZipFile(tmp_path / "sample.npz") as made, zipfile.ZipFile(SAMPLE_PATH) as kept:
        assert made.namelist() == kept.namelist()
        assert all(made.read(entry) == kept.read(entry) for entry in kept.namelist())
