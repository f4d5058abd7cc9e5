"""A dictionary of many small objects, and an SQLite database in memory."""
import hashlib
import sqlite3
import sys

count = int(sys.argv[2])


def dictionary():
    table = {}
    for i in range(count):
        table["key %d" % (i * 7919 % count)] = [i, str(i), (i, i + 1)]
    for i in range(0, count, 3):
        del table["key %d" % i]
    digest = hashlib.sha256()
    for key in sorted(table):
        digest.update(("%s %r\n" % (key, table[key])).encode())
    print(len(table), digest.hexdigest())


def database():
    db = sqlite3.connect(":memory:")
    db.execute("create table item (id integer primary key, name text, size integer)")
    rows = ((i, "item %d" % (i * 31 % 1000), i * i % 9973) for i in range(count))
    db.executemany("insert into item values (?, ?, ?)", rows)
    db.execute("create index by_name on item (name, size)")
    query = "select name, count(*), sum(size) from item group by name order by name"
    digest = hashlib.sha256(repr(list(db.execute(query))).encode())
    db.execute("delete from item where id % 3 = 0")
    print(list(db.execute("select count(*), sum(size) from item")), digest.hexdigest())


{"dict": dictionary, "sqlite": database}[sys.argv[1]]()
