"""What comes next is one table: `status` and the commands of a campaign say the same in each state."""

import shlex
from pathlib import Path

import exports
import pytest
from command import alter, answer_on_page, given, named, run, write_run

from fire_toolkit.pages.office import make_links
from fire_toolkit.workspace.locks import hold_lock

N_PAIRS = 6
SAMPLE = Path(__file__).resolve().parents[2] / "pools" / "sample"
pytestmark = pytest.mark.usefixtures("root")


def follows(*words: object) -> str:
    """Run a command; return what it and `status` after it say is next."""
    told, status = named(run(*words)), named(run("status"))
    assert told == status
    return told


def fill_in(sheet: str, label: str, n: int | None = None) -> None:
    """Answer the first n rows of a sheet with one label, and send it back."""
    exports.fill_in(Path("tasks", sheet), Path("exports", Path(sheet).name), lambda *pair: label, n)


def test_what_is_named_outside_a_workspace_runs_as_it_stands_also_in_folders_with_blanks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, qrels, queries = SAMPLE / "runs/fused.run", SAMPLE / "qrels.txt", SAMPLE / "queries.tsv"
    (folder := tmp_path.parent / f"{tmp_path.name} made elsewhere").mkdir()
    monkeypatch.chdir(folder)
    for first in (
        ["pool", runs, "--qrels", qrels, "--queries", queries, "--out", "my pool"],
        ["resolve", SAMPLE / "judgments.csv", "--qrels", qrels, "--out", "my labels"],
        ["add-collection", queries, qrels, "--out", "my collection"],
    ):
        (line,) = [each for each in run(*first).stderr.splitlines() if each.startswith("next: ")]
        run(*shlex.split(line)[2:])


def test_a_walk_by_hand_names_what_each_state_asks_for() -> None:
    assert "no such file; run `fire-toolkit tasks` first" in run("push", code=1).stderr
    assert "nothing was pushed from this workspace" in run("annotators", "retire", "A01", code=1).stderr
    assert follows("tasks", "--annotator", "A01,A02,A03", "--overlap", 1) == "import"
    for again in ((), ("--annotator", "A01,A02,A03")):
        told = run("tasks", "--overlap", 1, *again)
        assert told.stderr.startswith("nothing new to ask; handed out before: 6 tasks")
        assert named(told) == "import"
    assert "its round has begun; write elsewhere" in run("tasks", "--seed", 1, code=1).stderr
    assert "round 1 is open: A01, A02 and A03 have tasks" in run("status").stderr
    fill_in("tasks.A01.csv", "relevant")
    fill_in("tasks.A02.csv", "irrelevant", 1)
    came = run("import", "exports/tasks.A01.csv", "exports/tasks.A02.csv")
    assert named(came) == named(run("status")) == "import"
    assert "round 1 is open" in came.stderr
    fill_in("tasks.A02.csv", "irrelevant")
    fill_in("tasks.A03.csv", "ambiguous")
    assert follows("import") == "agree"
    assert follows("agree") == "resolve"
    assert follows("resolve") == "next-round"
    assert "to ask again: dispute 2" in run("status").stderr
    planned = run("next-round")
    assert named(planned) == named(run("status")) == "import"
    assert "round 2 is open" in planned.stderr
    for sheet in sorted(Path("tasks/round-2").glob("tasks.*.csv")):
        fill_in(f"round-2/{sheet.name}", "relevant")
    assert follows("import") == "refresh"
    run("refresh")
    after = named(run("status"))
    asked = run("next-round")
    assert named(asked) == named(run("status")) == after == "augment"
    assert "nothing is to be asked again" in asked.stderr
    assert asked.stdout == ""


def test_who_is_retired_leaves_a_round_that_is_not_open() -> None:
    run("tasks", "--annotator", "A01,A02", "--overlap", 0)
    fill_in("tasks.A01.csv", "relevant")
    assert named(run("import")) == "import"
    run("annotators", "retire", "A02")
    assert named(run("status")) == "agree"
    run("agree")
    run("resolve")
    status = run("status")
    assert named(status) == "next-round"
    assert "to ask again: unanswered 3" in status.stderr


def test_a_page_is_served_until_it_has_answers_to_pull(root: Path) -> None:
    run("tasks", "--overlap", 0)
    refused = run("push", "--carrier", "page", "--annotator", "A01,a01", code=1).stderr
    assert "annotators A01 and a01 differ in case alone, as no files may" in refused
    assert follows("push", "--carrier", "page", "--annotator", "A01") == "page serve"
    queue = given(root)
    for number, row in enumerate(queue, start=1):
        answer_on_page(root, row, "relevant", number)
        assert named(run("status")) == "pull"
        assert follows("pull") == ("page serve" if number < len(queue) else "agree")
    queries = root / "collection/queries.tsv"
    for was, now in (("dog runs 3", "cat runs 3"), ("cat runs 3", "dog runs 3")):
        queries.write_text(queries.read_text().replace(was, now))
        assert follows("tasks", "--overlap", 0) == (
            "push --carrier page --annotator A01" if now < was else "agree"
        )
        for words in ((), ("--carrier", "page", "--annotator", "A01")) if now < was else ():
            assert "1 of them were answered already" in run("push", *words, code=1).stderr


def test_a_round_of_next_round_is_sent_to_those_that_it_chose(root: Path) -> None:
    """Not to those whom the first push named, of whom one is retired by now."""
    run("tasks", "--overlap", 1)
    first = ("push", "--carrier", "page", "--annotator", "A01", "--annotator", "A02", "--annotator", "A03")
    run(*first)
    for number, row in enumerate(given(root), start=1):
        label = "relevant" if row["annotator_id"] == "A01" else "irrelevant"
        answer_on_page(root, row, label, number)
    run("pull")
    run("resolve")
    run("annotators", "retire", "A02")
    run("next-round")
    assert run("status").stderr.splitlines()[-1] == "next: fire-toolkit push"
    asked = {row["annotator_id"] for row in given(root, 2)}
    assert asked <= {"A01", "A03"}
    assert f"round 2 was given to {', '.join(sorted(asked))}" in run(*first, code=1).stderr
    assert follows("push") == "page serve"


def test_a_page_that_is_served_is_served_anew_for_who_has_no_link(root: Path) -> None:
    run("tasks", "--overlap", 0)
    run("push", "--carrier", "page", "--annotator", "A01")
    make_links(root, ["A01"])
    with hold_lock(root / "campaign/page/serve.lock", wait_s=0, what="a test"):
        assert named(run("status")) == "progress"
        assert follows("annotators", "reassign", "--to", "NEW") == "push"
        told = run("push")
        assert "`page serve` is running: stop it, as a new one makes a link for NEW" in told.stderr
    assert named(told) == follows("status") == "page serve"


def test_nobody_is_asked_by_another_page_than_the_campaign_began_with(root: Path) -> None:
    run("tasks", "--overlap", 1)
    run("push", "--carrier", "page", "--annotator", "A01,A02")
    for number, row in enumerate(given(root), start=1):
        answer_on_page(root, row, "relevant" if row["annotator_id"] == "A01" else "irrelevant", number)
    run("pull")
    run("resolve")
    page = "replace(label_config, 'ambiguous', 'unclear')"
    alter(root, f"update campaign set label_config = {page}, config_sha256 = ''")
    asked = ("next-round", "--annotator", "A03")
    told = run(*asked, code=1).stderr
    assert "another labeling page (guideline caption-relevance-v1, now that with other answers)" in told
    assert not given(root, 2)


def test_nobody_who_is_retired_gets_a_round_of_a_later_model(root: Path) -> None:
    (root / "pool/pool.csv").unlink()
    for step, name in enumerate(("early", "late")):
        write_run(root / f"runs/{name}.run", {f"q{n}": [f"v{(n + step) % N_PAIRS}"] for n in range(N_PAIRS)})
        assert follows("pool", "--depth", 1) == ("tasks" if name == "early" else "tasks --overlap 0")
        run("tasks", "--overlap", 0)
        if name == "early":
            run("push", "--carrier", "page", "--annotator", "A01,A02")
            run("annotators", "retire", "A02")
    assert "A02 is retired and gets no tasks" in run("push", "--annotator", "A01,A02", code=1).stderr
    run("push")
    assert {row["annotator_id"] for row in given(root, 2)} == {"A01"}


@pytest.mark.parametrize("n_judged", [N_PAIRS - 1, N_PAIRS])
def test_a_pool_that_was_judged_elsewhere_has_no_tasks_to_make(n_judged: int) -> None:
    rows = "".join(f"q{n},v{n},ann,relevant\n" for n in range(n_judged))
    Path("theirs.csv").write_text("query_id,doc_id,annotator_id,label\n" + rows)
    words = ("theirs.csv", "--columns", "query=query_id,doc=doc_id,annotator=annotator_id,label=label")
    assert follows("import", *words) == ("agree" if n_judged == N_PAIRS else "tasks")
    assert "every pair of the pool is judged" in run("status").stdout or n_judged < N_PAIRS


def test_a_new_workspace_says_what_brings_its_files_in(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "`add-collection` brings in the benchmark" in run("init", "new").stderr
    monkeypatch.chdir("new")
    assert "waiting: pool needs runs/*, collection/qrels.txt; `add-collection`" in run("status").stderr


def test_one_run_is_compared_with_none_also_where_a_second_one_is_gone() -> None:
    for name in ("clip", "ssb"):
        write_run(Path(f"runs/{name}.run"), {f"q{n}": [f"v{n}"] for n in range(N_PAIRS)})
    assert ("compare  ready" in run("status").stdout, run("compare").exit_code) == (True, 0)
    Path("runs/ssb.run").unlink()
    assert "compare  done     nothing to compare: one run" in run("status").stdout
    assert run("refresh").exit_code == 0


def test_judgments_that_a_pool_knows_and_the_workspace_has_not_are_to_be_imported() -> None:
    Path("pool/pool.csv").unlink()
    write_run(Path("runs/clip.run"), {f"q{n}": [f"v{n}"] for n in range(N_PAIRS)})
    rows = "".join(f"q{n},v{n},ann,relevant\n" for n in range(N_PAIRS))
    Path("theirs.csv").write_text("query_id,doc_id,annotator_id,label\n" + rows)
    run("pool", "--judged", "theirs.csv")
    assert "nothing to ask: 6 pairs judged or asked before left out" in run("tasks").stderr
    status = run("status")
    assert named(status) == "import"
    assert "waiting: import needs exports/" in status.stderr
    assert "push" not in status.stderr
    assert follows("import", "theirs.csv", "--columns", "label=label") == "agree"


def test_a_round_planned_without_a_campaign_is_named_until_it_is_handed_out_or_labels_change() -> None:
    said_by = {"ann": "irrelevant", "bob": "relevant"}
    rows = [f"q{n},v{n},{who},{said}\n" for n in range(N_PAIRS) for who, said in said_by.items()]
    Path("theirs.csv").write_text("query_id,doc_id,annotator_id,label\n" + "".join(rows))
    columns = "query=query_id,doc=doc_id,annotator=annotator_id,label=label"
    words = ("import", "theirs.csv", "--columns", columns)
    run(*words)
    run("agree")
    run("resolve")
    handing_out = "tasks plan/round-2 --overlap 0"
    assert follows("next-round") == handing_out
    assert named(run("next-round", "--out", "mine")) == "tasks mine --overlap 0"
    Path("theirs.csv").write_text("query_id,doc_id,annotator_id,label\n" + rows[0].replace("ann", "more"))
    assert follows(*words) == "refresh"
    run("agree")
    assert follows("resolve") == "augment"
    run("next-round")
    assert follows("tasks", "plan/round-2", "--overlap", 0) == "import"
