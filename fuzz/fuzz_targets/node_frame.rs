//! Messages of memory nodes' protocol.

#![no_main]

use farside_wire::frame::{HEADER, Header, MOST_HEAD};
use farside_wire::page_part::PagePart;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(start) = bytes.first_chunk::<HEADER>() else { return };
    let Ok(header) = Header::decode(start) else { return };
    let Ok(records) = header.records(bytes) else { return };
    let records: Vec<_> = records.collect();
    let mut again = [0; MOST_HEAD];
    let len = header.encode(&records, &mut again);
    assert_eq!(again[..len], bytes[..len]);
    for record in records {
        let Some(part) = PagePart::of(&record) else { continue };
        assert_eq!(part.read(record.version).slot, record.slot);
        let before = PagePart::before(&record);
        let write = before.and_then(|before| part.write(record.version, before, record.check));
        assert_eq!(write, before.map(|_| record));
    }
});
