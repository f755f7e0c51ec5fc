-- What each row of answers in `stale` was asked for: the round, its kind, and the owner of its queue. An
-- answer in a queue is of that queue's round; any other of the task on its pair that its author was given
-- last, else of the round that it names; to what nobody was asked in that round or before it has no kind. It
-- is kept as the table `counted`, on which the views rest.
with own as materialized (
  select number, pair_id, page, no_vote, round_said, queue = '' as is_free,
    queue = '' and is_elsewhere as is_outside,
    case when queue glob '[0-9]*/?*' then cast(queue as integer) else 0 end as in_round,
    substr(queue, instr(queue, '/') + 1) as in_hands,
    case when not is_of_several then state = 'deleted' else 'deleted' = (
      select state from answers event where event.annotation = own.annotation
      and event.updated_at = own.updated_at and state in ('deleted', 'restored')
      order by seen_at desc, state desc limit 1) end is true as is_deleted,
    case when annotator_id <> '' or not is_of_several then annotator_id else coalesce(
      (select annotator_id from answers named where annotator_id <> ''
        and named.annotation = own.annotation order by {best} limit 1), '') end as annotator_id
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
from own where is_outside
