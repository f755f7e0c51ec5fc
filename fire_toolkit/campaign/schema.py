"""The tables and views of a campaign's record, in SQL."""

from fire_toolkit.campaign.ledger import COLUMNS, EVENTS, STATES

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
VERSION = 3
_BEST = "updated_at desc, annotator_id = '', queue = '', source, project, number"
SCHEMA = f"""
create table answers (
  number integer primary key autoincrement,
  {", ".join(f"{name} text not null" for name in COLUMNS)},
  sha256 blob not null,
  check (state in {STATES})
);
create index answers_by_annotation on answers (annotation);
create index answers_by_task on answers (project, task);
create index answers_by_pair on answers (pair_id);
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
create index given_by_pair on given (pair_id);
create index taken_away on given (round, annotator_id, pair_id) where annotator_id <> '';
create table retired (annotator_id text primary key) without rowid;
create view latest as
select number, source, project, annotation, updated_at,
  case when 'deleted' = (select state from answers event where event.annotation = own.annotation
         and event.updated_at = own.updated_at and state in {EVENTS}
         order by seen_at desc, state desc limit 1) then 'deleted'
       when exists (select 1 from answers other where other.annotation = own.annotation
         and other.updated_at < own.updated_at) then 'edited' else 'answered' end as state,
  seen_at, pair_id, task, queue,
  coalesce(nullif(annotator_id, ''), (select annotator_id from answers named where annotator_id <> ''
    and named.annotation = own.annotation order by {_BEST} limit 1), '') as annotator_id, answer
from answers own where number =
  (select number from answers other where other.annotation = own.annotation order by {_BEST} limit 1);
create view queues as
select round, to_annotator_id as annotator_id, pair_id, kind, batch, position from given own
where to_annotator_id <> '' and not exists (select 1 from given later where later.annotator_id <> ''
  and later.round = own.round and later.annotator_id = own.to_annotator_id and later.pair_id = own.pair_id
  and (later.batch, later.position) > (own.batch, own.position));
{_OF_CARRIERS}
"""
