-- Which answers count, kept in the record as the table `counted`, on which the views rest. Answers and tasks are
-- only ever added, so that what is not counted yet is of those after the last ones that were: the answers that
-- are new, and those whose pair was given to somebody since.
create table if not exists {place}.counted (
  number integer primary key, pairs integer, people integer, is_deleted integer, round integer, kind text,
  owner integer, kind_there text, is_skipped integer, stands integer
);
create table if not exists {place}.counted_so_far (answer integer, task integer);
insert into counted_so_far select 0, 0 where not exists (select 1 from counted_so_far);

-- Where somebody took rows out, nothing that was counted is sure.
update counted_so_far set answer = 0, task = 0 where answer > (select ifnull(max(number), 0) from versions)
  or task > (select ifnull(max(number), 0) from moves);
delete from counted where (select answer from counted_so_far) = 0;

-- Of answers with a row that came after the last: the one row that there is, or that which counts of several.
insert or ignore into stale
with several as materialized (
  select annotation from versions where (select answer from counted_so_far) = 0
  group by annotation having count(*) > 1 union all -- the first time in one go
  select annotation from versions own where number > (select answer from counted_so_far)
  and (select answer from counted_so_far) > 0 and exists (select 1 from versions other
    where other.annotation = own.annotation and other.number <> own.number))
select number, 0 from versions
where number > (select answer from counted_so_far) and annotation not in several union all
select (select number from answers other where other.annotation = own.annotation order by {best} limit 1), 1
from several own;
delete from counted where number in (
  select other.number from stale join versions own using (number) join versions other using (annotation)
  where is_of_several);
insert or ignore into stale
select number, (select count(*) > 1 from versions own join versions other using (annotation)
  where own.number = counted.number)
from counted where kind <> 'elsewhere'
and pairs in (select pairs from moves where number > (select task from counted_so_far));

-- What each of these was asked for: the round, its kind, and the owner of its queue. An answer in a queue is of
-- that queue's round, any other of the task on its pair that its author was given last, else of the round that
-- it names. To what nobody was asked in that round or before it has no kind.
insert or replace into counted
with own as materialized (
  select number, pairs, page, no_vote, round_said, queue = '' as is_free,
    queue = '' and is_elsewhere as is_outside,
    case when queue glob '[0-9]*/?*' then cast(queue as integer) else 0 end as in_round,
    case when queue <> ''
      then (select number from people where annotator_id = substr(queue, instr(queue, '/') + 1)) end as in_hands,
    case when not is_of_several then state = 'deleted' else 'deleted' = (
      select state from answers event where event.annotation = own.annotation
      and event.updated_at = own.updated_at and state in ('deleted', 'restored')
      order by seen_at desc, state desc limit 1) end is true as is_deleted,
    case when people <> 0 or not is_of_several then people else ifnull(
      (select people from answers named where people <> 0
        and named.annotation = own.annotation order by {best} limit 1), 0) end as people
  from stale join answers own using (number)),
asked as materialized (
  select own.*,
    case when in_round > 0 then (select kind from moves where moves.pairs = own.pairs
      and moves.round = in_round and moves.people = in_hands) end as kind_there,
    case when is_free then not exists (select 1 from moves where moves.pairs = own.pairs
      and moves.people <> 0 and (moves.round <= round_said or moves.people = own.people))
      else 0 end as is_unasked,
    case when in_round = 0 and own.people <> 0 then (select moves.number from moves
      where moves.pairs = own.pairs and moves.people = own.people order by round desc limit 1)
      end as given_last
  from own where not is_outside)
select asked.number, asked.pairs, asked.people, is_deleted,
  case when is_unasked then round_said when in_round > 0 then in_round
    else coalesce(moves.round, round_said) end as round,
  case when is_unasked then ''
    when in_round = 0 then coalesce(moves.kind, 'unassigned') when kind_there is null then 'unassigned'
    when kind_there not in ('training', 'control') and asked.people not in (0, in_hands)
    then 'unassigned' else kind_there end as kind,
  iif(in_round > 0, in_hands, asked.people) as owner,
  iif(in_round > 0, kind_there, moves.kind) as kind_there,
  no_vote in ('skipped', 'unread') as is_skipped,
  not is_deleted and asked.pairs > 0 and (page is null or no_vote in ('', 'skipped')) as stands
from asked left join moves on moves.number = given_last union all
select number, pairs, people, is_deleted, round_said, 'elsewhere', null, null,
  no_vote in ('skipped', 'unread'), 0
from own where is_outside;
create index if not exists counted_by_pair on counted (pairs, owner, round, stands) where kind <> 'elsewhere';
update counted_so_far set answer = (select ifnull(max(number), 0) from versions),
  task = (select ifnull(max(number), 0) from moves);
delete from stale
