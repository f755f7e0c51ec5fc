-- What a campaign's record says now. Each view rests on the rows alone, and on `counted`: which answers count,
-- and what they were asked for.
create temp table stale (number integer primary key, is_of_several integer);

-- What each answer says.
create temp view said as
select number, annotation, updated_at, label, no_vote, flags, comment, origin, controls, page, page_position,
  page_s, round_said, is_elsewhere, fault, id, created_at, changed_at, duration_s, query_id, doc_id
from answers;

-- Whose and which the numbers are.
create temp view named_people as select number as people, annotator_id from people;
create temp view named_pairs as select number as pairs, pair_id, query_id, doc_id from pairs;

-- What carries each round, and how many captions a page of it may have: as was said last.
create temp view carried as
select number, carrier, captions, max(rowid) from rounds group by number order by number;

-- What each task shows now: as was said last.
create temp view asked_now as
select round, pair_id, query_id, doc_id, text, media_url, reference_url, guideline, batch, position
from asked group by round, pair_id having max(rowid);
-- Of these the ones that may have been corrected: others are of rounds that were written once.
create temp view corrected as
select * from asked_now where round in (select number from rounds group by number having count(*) > 1);

-- Who was ever given which task, and whether it is theirs still.
create temp view hands as
select number, round, people, pairs, kind, batch, position,
  not exists (select 1 from moves later where later.taken_from <> 0
    and later.round = own.round and later.taken_from = own.people and later.pairs = own.pairs
    and (later.batch, later.position) > (own.batch, own.position)) as is_there
from moves own where people <> 0;

-- Who has which task.
create temp view queues as
select round, people, pairs, kind, batch, position from hands where is_there;

-- The answer that stands for each task: a vote before a skip, a later before an earlier one; a page that was
-- sent without an answer to a caption has not answered it. kind: of the task, none where nobody has it there
-- any more.
create temp view standing as
select round, owner as people, own.pairs, said.query_id, said.doc_id,
  iif(no_vote = '', label, '') as label, is_skipped, duration_s as seconds,
  case when not exists (select 1 from moves later
      where later.taken_from <> 0 and later.taken_from = own.owner and later.round = own.round
      and later.pairs = own.pairs) or exists (select 1 from queues where queues.pairs = own.pairs
      and queues.round = own.round and queues.people = own.owner) then kind_there end as kind
from counted own join said using (number) where stands and not exists (
  select 1 from counted other join versions using (number)
  where other.pairs = own.pairs and other.kind <> 'elsewhere' and other.number <> own.number
  and other.round = own.round and other.owner = own.owner and other.stands
  and (other.is_skipped, said.updated_at, said.annotation)
    < (own.is_skipped, versions.updated_at, versions.annotation));

-- The docs that several people skipped or reported, most first.
create temp view reported as
select doc_id, count(*) as n_people, sum(n) as n_reports, group_concat(annotator_id, ', ') as people
from (select doc_id, annotator_id, count(*) as n from standing join named_people using (people)
  where is_skipped group by 1, 2 order by 2)
group by doc_id having n_people > 1 order by n_reports desc, doc_id;

-- The tasks that somebody has and has not answered, and of these the ones whose answer is not known.
create temp view open_tasks as
select * from queues where not exists (select 1 from counted where counted.pairs = queues.pairs
  and counted.kind <> 'elsewhere' and counted.round = queues.round
  and counted.owner = queues.people and stands);
create temp view open_votes as select * from open_tasks where kind not in ('training', 'control');

-- Those that somebody answered who had had them before they moved, once or on and on; batch: that of the next
-- moves of the round.
create temp view answered_before as
with recursive earlier (round, people, pairs, kind, holder) as (
  select round, people, pairs, moves.kind, taken_from from moves join open_votes using (round, people, pairs)
  where taken_from <> 0 union
  select own.round, own.people, own.pairs, own.kind, taken_from
  from earlier own join moves on moves.pairs = own.pairs and moves.people = holder and moves.round = own.round
  where taken_from <> 0)
select distinct own.round, (select max(batch) + 1 from moves where moves.round = own.round) as batch,
  annotator_id, pair_id, own.kind
from earlier own join named_people using (people) join named_pairs using (pairs)
where exists (select 1 from counted where counted.pairs = own.pairs
  and counted.kind <> 'elsewhere' and counted.round = own.round
  and counted.owner = holder and stands and not is_skipped)
order by 1, 3, 4;

-- Who has such a task in which round.
create temp view open_people as
select round, annotator_id
from (select distinct round, people from moves where people <> 0) own join named_people using (people)
where exists (select 1 from open_tasks
  where open_tasks.round = own.round and open_tasks.people = own.people)
order by round, annotator_id;

-- What was given, or was to be, of pairs that have no vote, and the place of that.
create temp view unvoted as
select pairs, number as place from moves where kind not in ('training', 'control')
and pairs not in (select counted.pairs from counted join said using (number)
  where no_vote = '' and not is_deleted and kind not in ('training', 'control'));

-- Everybody who was given a pair or left anything at it; is_known: as one whose answer is known.
create temp view seen as
select to_annotator_id as annotator_id, pair_id, kind in ('training', 'control') as is_known from given
where to_annotator_id <> '' union all
select annotator_id, pair_id, 0 from answers union all
select substr(queue, instr(queue, '/') + 1), pair_id, 0 from answers where queue glob '[0-9]*/?*';

-- The pairs that rounds ask for the first time, as their queues were drawn; is_doubled: of two annotators.
create temp view first_asked as
select query_id, doc_id, min(round) as round, is_doubled
from (select round, pairs, max(kind = 'overlap') as is_doubled from moves
  where batch = 0 and kind in ('overlap', 'task') group by round, pairs) join named_pairs using (pairs)
group by pairs order by round, pair_id;

-- The answers that count and name a pair, with their authors and the reason why they are no votes.
create temp view judged as
select pairs, people, meanings, id as number, updated_at, created_at, changed_at, duration_s, round, kind,
  iif(is_deleted, 'deleted', iif(kind in ('training', 'control'), kind, no_vote)) as reason
from (select number, pairs, people, is_deleted, round, kind from counted where pairs > 0)
join (select number, id, updated_at, created_at, changed_at, duration_s, meanings from versions) using (number)
left join (select number as meanings, no_vote from meanings) using (meanings);

-- Those that say nothing that can be read.
create temp view unread as
select number, annotator_id, pair_id, fault
from counted join named_people using (people) join named_pairs using (pairs)
join (select number, fault from answers) using (number)
where is_skipped and not is_deleted and fault is not null;

-- Those that name none.
create temp view of_no_pair as
select '' as query_id, '' as doc_id, named_people.annotator_id, '' as label, '' as created_at,
  iif(is_deleted, 'deleted', 'no_pair') as reason,
  'annotation ' || id || ' at task ' || task || ' of project ' || project as detail
from counted join named_people using (people) join answers using (number) where counted.pairs = 0;

-- The versions of answers that a later one has replaced, each once; those that the next one repeats, as where two
-- sites read one sheet, are copies.
create temp view replaced as
select pairs, people, meanings, id as number, updated_at, created_at, changed_at, duration_s,
  iif(versions.meanings = (select later.meanings from versions later
    where later.annotation = versions.annotation and later.updated_at > versions.updated_at
    order by later.updated_at limit 1), 'duplicate', 'edited') as reason, min(versions.number)
from versions join (select number as origins, state from origins) using (origins)
where annotation in (select annotation from versions group by annotation having count(*) > 1)
and pairs > 0 and state not in ('deleted', 'restored') and exists (select 1 from versions later
  where later.annotation = versions.annotation and later.updated_at > versions.updated_at)
group by annotation, updated_at;

-- The answers that were given on pages of several captions, those that count last.
create temp view on_pages as
select annotator_id, query_id, doc_id, page, page_position, duration_s as share_s, page_s
from counted join named_people using (people) join said using (number)
where page <> '' and not is_deleted
order by no_vote <> 'skipped', updated_at;

-- The answers with a time after they were read, where another label of the same person was read later.
create temp view ahead as
select distinct own.query_id, own.doc_id, named_people.annotator_id, own.label
from counted join named_people using (people) join answers own using (number)
where own.changed_at > own.seen_at and not is_deleted
and exists (select 1 from counted other join answers later using (number)
  where not other.is_deleted and other.pairs = counted.pairs
  and other.people = counted.people and later.no_vote = '' and later.seen_at > own.seen_at
  and later.label <> own.label);

-- What was done on our own page; label: none where an answer was taken back.
create temp view done_on_page as
select number, json_extract(record, '$.at') as at, json_extract(record, '$.pair') as pair,
  json_extract(record, '$.round') || '/' || json_extract(record, '$.annotator') as queue,
  json_extract(record, '$.label') as label
from page where json_extract(record, '$.kind') in ('answer', 'undo');

-- What stands there of each task.
create temp view page_now as select queue, pair, label, max(number) from done_on_page group by queue, pair;

-- What was done there last, if the answers do not have it.
create temp view unread_page as
with last as (select * from done_on_page order by number desc limit 1)
select last.* from last join campaign where not exists (select 1 from answers
  where annotation = 'page:' || key || '#' || last.queue || '#' || last.pair and seen_at >= last.at);
