pragma cache_size = -2000000;
pragma temp_store = memory;
create table zone (id integer primary key, name text);
create table trip (id integer primary key, origin integer, target integer, started integer, fare real, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
    insert into zone select i, 'zone ' || (i * 7919 % 2000) from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 250000)
    insert into trip select i, i * 7919 % 2000 + 1, i * 104729 % 2000 + 1, i * 31 % 86400,
        (i * i % 9973) / 100.0, 'trip ' || (i * 65537 % 250000) from n;
create index by_origin on trip (origin, target);
create index by_note on trip (note);
select count(*), round(sum(fare), 2), min(note), max(note) from trip;
select started / 3600 as hour, count(*), round(avg(fare), 2) from trip group by hour order by hour;
select count(*) from trip a join trip b on a.note = b.note and a.id < b.id + 5;
select z.name, count(*), round(sum(t.fare), 2) as income from trip t join zone z on z.id = t.origin
    group by z.id order by income desc limit 5;
update trip set fare = fare + 1 where id % 5 = 0;
delete from trip where id % 3 = 0;
select count(*), round(sum(fare), 2) from trip;
