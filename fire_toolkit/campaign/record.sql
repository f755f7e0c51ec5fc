-- The tables of a campaign's record. Nothing is taken out of them; views.sql says what they mean.

-- What many rows share stands once, in a table of its own, and a row has its number there; 0: nobody, no pair.
-- crc: of a value's text, by which it is found.
create table origins (
  number integer primary key, crc integer not null,
  source text, project text, state text, seen_at text, queue text
);
create table people (number integer primary key, annotator_id text not null);
create table pairs (number integer primary key, pair_id text not null, query_id text, doc_id text);
insert into people values (0, '');
insert into pairs values (0, '', '', '');
-- fault: why an answer cannot be read; answer: as it was given, where that is elsewhere.
create table meanings (
  number integer primary key, crc integer not null,
  answer text, label text, no_vote text, flags text, comment text, origin text, controls text, page text,
  page_position text, page_s real, round_said integer, is_elsewhere integer, fault text
);
-- What a version has of its own; created_at, changed_at: null at the time of the version, as most are.
create table versions (
  number integer primary key,
  annotation text not null, updated_at text not null, task text not null, answer text, id integer,
  created_at text, changed_at text, duration_s real,
  origins integer not null, people integer not null, pairs integer not null, meanings integer not null,
  sha256 blob not null
);
create index versions_by_annotation on versions (annotation);
create index origins_by_crc on origins (crc);
create unique index people_by_id on people (annotator_id);
create unique index pairs_by_id on pairs (pair_id);
create index meanings_by_crc on meanings (crc);
create index versions_by_task on versions (task) where task <> '';
-- Every version with all that it says; of one that cannot be read, no ids.
create view answers as
select versions.number, annotation, updated_at, task, source, project, state, seen_at, queue, annotator_id,
  pair_id, ifnull(versions.answer, meanings.answer) as answer, label, no_vote, flags, comment, origin,
  controls, page, page_position, page_s, round_said, is_elsewhere, fault, id,
  ifnull(versions.created_at, updated_at) as created_at,
  ifnull(versions.changed_at, updated_at) as changed_at, duration_s, iif(fault is null, query_id, '') as query_id,
  iif(fault is null, doc_id, '') as doc_id, sha256, people, pairs
from versions
left join origins on origins.number = versions.origins
left join people on people.number = versions.people
left join pairs on pairs.number = versions.pairs
left join meanings on meanings.number = versions.meanings;
-- Answers that came in at once, up to that number: the hash of all up to there, when they were seen, and when
-- on a server.
create table batches (
  number integer primary key, seen_at text not null, seen_on_server text not null, sha256 blob not null
);
-- What was done on our own page.
create table page (number integer primary key autoincrement, record text not null, sha256 blob not null);

-- What was asked of whom.
create table campaign (
  key text, guideline text, guideline_sha256 text, config_sha256 text, label_config text
);
create table rounds (number integer not null, carrier text not null, captions integer not null);
create table asked (
  round integer not null, pair_id text not null, query_id text, doc_id text, text text, media_url text,
  reference_url text, guideline text, batch integer, position integer
);
create table controls (round integer not null, query_id text, doc_id text, relevance integer);
-- people: who was given the pair; taken_from: who had it.
create table moves (
  number integer primary key, round integer not null, batch integer not null, position integer not null,
  taken_from integer not null, people integer not null, pairs integer not null, kind text not null
);
create index moves_by_pair on moves (pairs, people, round, kind);
create index moves_by_person on moves (round, people);
create index moves_away on moves (pairs, taken_from, round) where taken_from <> 0;
create view given as
select number, round, batch, position,
  (select annotator_id from people where people.number = taken_from) as annotator_id,
  (select annotator_id from people where people.number = moves.people) as to_annotator_id,
  (select pair_id from pairs where pairs.number = moves.pairs) as pair_id, kind
from moves;
create table retired (annotator_id text primary key) without rowid;

-- Kept by those who fill them. A place is a project that this workspace ever made or read on a server, and up
-- to where it was read; a row of `machine` is a request to a machine judge, or what became of it.
create table places (
  source text, project integer, born text, queue text, read_up_to text, whole_at text,
  n_tasks integer, n_more integer, lost text, n_lost integer, primary key (source, project, born)
);
create table machine (
  number integer primary key autoincrement, judge text, key text, query_id text, doc_id text,
  sample_number integer, answer text, sha256 blob
);
create index machine_by_judge on machine (judge);
