//! The shell of SQLite.

use farside_exam::{Exam, Program, has_program, pick};

#[test]
fn sqlite_shell() {
    if !has_program("sqlite_shell", "sqlite3", "sqlite3") {
        return;
    }
    let exam = Exam::new("sqlite3");
    let script = exam.input("script.sql");
    let rows = pick(300_000, 5_000_000);
    let text = format!(
        "pragma cache_size = -2000000; pragma temp_store = memory;\n\
         create table item (id integer primary key, name text, size integer);\n\
         with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})\n\
         insert into item select i, 'item ' || (i * 7919 % {rows}), i * i % 9973 from n;\n\
         create index by_name on item (name, size);\n\
         select count(*), sum(size), min(name), max(name) from item;\n\
         select substr(name, 1, 6) as p, count(*), sum(size) from item group by p order by p;\n\
         select count(*) from (select a.id from item a join item b on a.name = b.name);\n\
         update item set size = size + 1 where id % 5 = 0;\n\
         delete from item where id % 3 = 0;\n\
         select count(*), sum(size) from item; pragma integrity_check;\n"
    );
    std::fs::write(&script, text).expect("the temporary directory has room");
    exam.compare(&Program::new("sqlite3").arg(":memory:").stdin(&script));
    exam.compare(&Program::new("sqlite3").arg("file.db").stdin(script));
}
