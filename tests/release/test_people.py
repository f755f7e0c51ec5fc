"""What a release must not hold is found, and nothing else is."""

import pytest

from fire_toolkit.release.published import PRIVATE, find_private

FOUND = {
    "an e-mail address": ["a.b+c@mail.example.org", "x@y.zz"],
    "an access token": [
        *("hf_" + "a" * 20, *(f"gh{kind}_" + "b1" * 10 for kind in "pousr"), "github_pat_" + "c" * 20),
        *("sk-" + "d" * 20, "AKIA" + "E" * 16, *(f"xox{kind}-" + "1" * 10 for kind in "abpr")),
        "eyJ" + "f" * 10 + "." + "g" * 10 + ".h",
        *(f"https://h.org/v.mp4?{name}=abcdefgh" for name in ("token", "key", "sig", "signature")),
        *(f"https://h.org/v.mp4?a=1&{name}=abcdefgh" for name in ("access_token", "X-Amz-Signature")),
    ],
    "an absolute path": [
        *(f"/{top}/x" for top in ("home", "root", "Users", "mnt", "data", "tmp", "var", "work", "scratch")),
        *("/srv/x", "/opt/x", "C:\\\\runs", "~/runs"),
    ],
}


@pytest.mark.parametrize(("what", "text"), [(what, text) for what, texts in FOUND.items() for text in texts])
def test_each_kind_is_found_alone_and_within_a_line(what: str, text: str) -> None:
    for line in (text, f'see "{text}", he wrote'):
        assert what in [found.what for found in find_private({"a.csv": f"x\n{line}\n"})], line


def test_every_match_has_one_of_its_signs() -> None:
    assert {kind.what for kind in PRIVATE} == set(FOUND)
    for kind in PRIVATE:
        assert all(kind.pattern.search(text) for text in FOUND[kind.what])
        assert all(any(sign in text for sign in kind.signs) for text in FOUND[kind.what])


@pytest.mark.parametrize(
    "text",
    ["q1 0 data/v1 1", "https://h.org/home/x", "a@b", "keys=1", "task-1", "3/4", "C@10", "sk-learn", "a:b"],
)
def test_ids_measures_and_addresses_are_none_of_these(text: str) -> None:
    assert list(find_private({"qrels.txt": text})) == []


def test_secrets_are_found_anywhere_and_names_in_documents_as_whole_words() -> None:
    texts = {
        "a.csv": "ann,swordfish",
        "b.md": "Ann planned",
        "c.md": "annual",
        "queries.jsonl": "x@y.org swordfish",
    }
    found = find_private(texts, names=["ann"], secrets=["swordfish"])
    assert [(each.file, each.what) for each in found] == [
        ("a.csv", "a secret of the workspace"),
        ("b.md", "a person's name"),
        ("queries.jsonl", "a secret of the workspace"),
    ]
