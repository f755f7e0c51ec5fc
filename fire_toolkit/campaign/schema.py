"""The tables and views of a campaign's record, in SQL."""

from fire_toolkit.campaign.ledger import COLUMNS, EVENTS, Version

# Kept by those who fill them. A place is a project that this workspace ever made or read on a server, and up
# to where it was read; a row of `machine` is a request to a machine judge, or what became of it.
_OF_CARRIERS = """
create table places (
  source text, project integer, born text, queue text, read_up_to text, whole_at text,
  n_tasks integer, n_more integer, lost text, n_lost integer, primary key (source, project, born)
);
create table machine (
  number integer primary key autoincrement, judge text, key text, query_id text, doc_id text,
  sample_number integer, answer text, sha256 blob
);
create index machine_by_judge on machine (judge)
"""
VERSION = 8
# What many versions share stands once, in a table of its own, and a version has its number there. fault: why
# an answer cannot be read; answer: as it was given, where that is elsewhere.
SHARED = {
    "origins": "source text, project text, state text, seen_at text, queue text",
    "people": "annotator_id text",
    "pairs": "pair_id text, query_id text, doc_id text",
    "meanings": "answer text, label text, no_vote text, flags text, comment text, origin text, "
    "controls text, page text, page_position text, page_s real, round_said integer, is_elsewhere integer, "
    "fault text",
}
# What each version has of its own; null: made or changed at the time of its version, as most are.
SAME_TIME = ("created_at", "changed_at")
_OWN = (
    "annotation text not null, updated_at text not null, task text not null, answer text, id integer, "
    "created_at text, changed_at text, duration_s real"
)


def _names(columns: str) -> tuple[str, ...]:
    return tuple(column.split()[0] for column in columns.split(", "))


OWN = _names(_OWN)
NAMES = {table: _names(columns) for table, columns in SHARED.items()}
# Indexes that are sorted at once where very many answers are the first.
LATE = {"versions_by_annotation": "create index versions_by_annotation on versions (annotation)"} | {
    f"{table}_by_crc": f"create index {table}_by_crc on {table} (crc)" for table in SHARED
}
_MADE_OF = {name: f"ifnull(versions.{name}, updated_at)" for name in SAME_TIME}
_MADE_OF["answer"] = "ifnull(versions.answer, meanings.answer)"
KEPT = Version._fields
SAID_NAMES = KEPT[len(COLUMNS) :]  # what an answer says (`said.py`)
# crc: of a value's text, by which it is found.
_SHARED = "".join(
    f"create table {table} (number integer primary key, crc integer not null, {columns});\n"
    for table, columns in SHARED.items()
)
# answers: every version with all that it says. batches: answers that came in at once, up to that number: the
#   hash of all up to there, when they were seen, and when on a server.
SCHEMA = f"""
{_SHARED}
create table versions (
  number integer primary key, {_OWN}, {", ".join(f"{table} integer not null" for table in SHARED)},
  sha256 blob not null
);
{"; ".join(LATE.values())};
create index versions_by_task on versions (task) where task <> '';
create view answers as select versions.number,
  {", ".join(f"{_MADE_OF[name]} as {name}" if name in _MADE_OF else name for name in KEPT)}, sha256
from versions {" ".join(f"left join {table} on {table}.number = versions.{table}" for table in SHARED)};
create table batches (
  number integer primary key, seen_at text not null, seen_on_server text not null, sha256 blob not null
);
create table page (number integer primary key autoincrement, record text not null, sha256 blob not null);
create table campaign (
  key text, guideline text, guideline_sha256 text, config_sha256 text, label_config text
);
create table rounds (number integer not null, carrier text not null, captions integer not null);
create table asked (
  round integer not null, pair_id text not null, query_id text, doc_id text, text text, media_url text,
  reference_url text, guideline text, batch integer, position integer
);
create table controls (round integer not null, query_id text, doc_id text, relevance integer);
create table given (
  round integer not null, batch integer not null, position integer not null, annotator_id text not null,
  to_annotator_id text not null, pair_id text not null, kind text not null
);
create index given_by_pair on given (pair_id, to_annotator_id, round, kind);
create index taken_away on given (round, annotator_id, pair_id) where annotator_id <> '';
create table retired (annotator_id text primary key) without rowid;
{_OF_CARRIERS}
"""
BEST = "updated_at desc, annotator_id = '', queue = '', source glob 'file:*', source, project, number"
# What each row of answers in `stale` was asked for: the round, its kind, and the owner of its queue. An
# answer in a queue is of that queue's round; any other of the task on its pair that its author was given
# last, else of the round that it names; to what nobody was asked in that round or before it has no kind. It
# is kept as the table `counted` (`Store.count`), on which the views rest.
COUNTED_NOW = f"""
with own as materialized (
  select number, pair_id, page, no_vote, round_said, queue = '' as is_free,
    queue = '' and is_elsewhere as is_outside,
    case when queue glob '[0-9]*/?*' then cast(queue as integer) else 0 end as in_round,
    substr(queue, instr(queue, '/') + 1) as in_hands,
    case when not is_of_several then state = 'deleted' else 'deleted' = (
      select state from answers event where event.annotation = own.annotation
      and event.updated_at = own.updated_at and state in {EVENTS} order by seen_at desc, state desc limit 1)
      end is true as is_deleted,
    case when annotator_id <> '' or not is_of_several then annotator_id else coalesce(
      (select annotator_id from answers named where annotator_id <> ''
        and named.annotation = own.annotation order by {BEST} limit 1), '') end as annotator_id
  from stale join answers own using (number)),
asked as materialized (
  select own.*,
    case when in_round > 0 then (select kind from given where given.pair_id = own.pair_id
      and given.round = in_round and to_annotator_id = in_hands) end as kind_there,
    case when is_free then not exists (select 1 from given where given.pair_id = own.pair_id
      and to_annotator_id <> '' and (given.round <= round_said or to_annotator_id = own.annotator_id))
      else 0 end as is_unasked,
    case when in_round = 0 then (select given.rowid from given
      where given.pair_id = own.pair_id and to_annotator_id = own.annotator_id and own.annotator_id <> ''
      order by round desc limit 1) end as given_last
  from own where not is_outside)
select number, asked.pair_id, asked.annotator_id, is_deleted,
  case when is_unasked then round_said when in_round > 0 then in_round
    else coalesce(given.round, round_said) end as round,
  case when is_unasked then ''
    when in_round = 0 then coalesce(given.kind, 'unassigned') when kind_there is null then 'unassigned'
    when kind_there not in ('training', 'control') and asked.annotator_id not in ('', in_hands)
    then 'unassigned' else kind_there end as kind,
  iif(in_round > 0, in_hands, asked.annotator_id) as owner,
  iif(in_round > 0, kind_there, given.kind) as kind_there,
  no_vote in ('skipped', 'unread') as is_skipped,
  not is_deleted and asked.pair_id <> '' and (page is null or no_vote in ('', 'skipped')) as stands
from asked left join given on given.rowid = given_last union all
select number, pair_id, annotator_id, is_deleted, round_said, 'elsewhere', null, null,
  no_vote in ('skipped', 'unread'), 0
from own where is_outside"""
# said: what each answer says.
# hands: who was ever given which task, and whether it is theirs still. queues: who has which task.
# standing: the answer that stands for each task: a vote before a skip, a later before an earlier one; a page
#   that was sent without an answer to a caption has not answered it. kind: of the task, none where nobody has
#   it there any more.
# reported: the docs that several people skipped or reported.
# open_tasks: those that somebody has and has not answered.
VIEWS = f"""
create temp view said as select number, annotation, updated_at, {", ".join(SAID_NAMES)} from answers;
create temp table stale (number integer primary key, is_of_several integer);
create temp view hands as
select round, to_annotator_id as annotator_id, pair_id, kind, batch, position,
  not exists (select 1 from given later where later.annotator_id <> ''
    and later.round = own.round and later.annotator_id = own.to_annotator_id and later.pair_id = own.pair_id
    and (later.batch, later.position) > (own.batch, own.position)) as is_there
from given own where to_annotator_id <> '';
create temp view queues as
select round, annotator_id, pair_id, kind, batch, position from hands where is_there;
create temp view standing as
select round, owner as annotator_id, own.pair_id, said.query_id, said.doc_id,
  iif(no_vote = '', label, '') as label, is_skipped, duration_s as seconds,
  case when not exists (select 1 from given later
      where later.annotator_id <> '' and later.annotator_id = own.owner and later.round = own.round
      and later.pair_id = own.pair_id) or exists (select 1 from queues where queues.pair_id = own.pair_id
      and queues.round = own.round and queues.annotator_id = own.owner) then kind_there end as kind
from counted own join said using (number) where stands and not exists (
  select 1 from counted other join versions using (number)
  where other.pair_id = own.pair_id and other.kind <> 'elsewhere' and other.number <> own.number
  and other.round = own.round and other.owner = own.owner and other.stands
  and (other.is_skipped, said.updated_at, said.annotation)
    < (own.is_skipped, versions.updated_at, versions.annotation));
create temp view reported as
select doc_id, count(*) as n_people, sum(n) as n_reports, group_concat(annotator_id, ', ') as people
from (select doc_id, annotator_id, count(*) as n from standing where is_skipped group by 1, 2 order by 2)
group by doc_id having n_people > 1 order by n_reports desc, doc_id;
create temp view open_tasks as
select * from queues where not exists (select 1 from counted where counted.pair_id = queues.pair_id
  and counted.kind <> 'elsewhere' and counted.round = queues.round
  and counted.owner = queues.annotator_id and stands);
"""
