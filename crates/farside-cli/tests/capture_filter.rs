//! PATH's filter against the golden counts.

use std::fs;

use farside_cli::capture::{Filter, Sizes};
use farside_golden::folder as golden;
use farside_trace::TraceReader;

/// Where the hashes of the golden tables begin, which is not where FNV-1a usually does.
const BASIS: u64 = 1_469_598_103_934_665_603;

fn fnv1a(hash: u64, page: u64) -> u64 {
    page.to_le_bytes()
        .iter()
        .fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn it_records_exactly_what_the_golden_tables_say() {
    let Some(golden) = golden("it_records_exactly_what_the_golden_tables_say") else { return };
    let table = fs::read_to_string(golden.join("expected/path.tsv")).unwrap();
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<usize>().unwrap();
        let names = [fields[0].to_owned(), format!("{}.zst", fields[0])];
        let Some(path) =
            names.iter().map(|name| golden.join("traces").join(name)).find(|path| path.is_file())
        else {
            continue;
        };
        let sizes = Sizes { buffer: number(1) * number(2), ways: number(2), filter: number(3) };
        let mut filter = Filter::new(sizes);
        let (mut recorded, mut hash) = (0, BASIS);
        for page in TraceReader::open(path).unwrap() {
            let page = page.unwrap().0;
            if filter.passes(page) {
                recorded += 1;
                hash = fnv1a(hash, page);
            }
        }
        assert_eq!((recorded, format!("{hash:016x}")), (number(7), fields[9].to_owned()), "{line}");
        rows += 1;
    }
    assert!(rows > 0, "no trace of the table was found");
}
