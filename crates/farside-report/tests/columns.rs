//! Tables are read back by the official readers.

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use bytes::Bytes;
use farside_report::{ColumnFormat, ColumnsExport};
use farside_trace::export::Export;
use farside_trace::{Access, Block, Metadata, PageId};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

fn accesses() -> Vec<Access> {
    (0..100_000u64)
        .map(|i| Access {
            page: PageId(if i == 7 { u64::MAX } else { i * i % 4099 }),
            write: i % 5 < 2,
            thread: (i / 1000) as u32,
            weight: 1 + (i % 3) as u32,
        })
        .collect()
}

fn exported(accesses: &[Access], format: ColumnFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    let metadata = Metadata { program: Some("made".into()), ..Metadata::default() };
    let mut export = ColumnsExport::new(&mut bytes, format, &metadata, "table").unwrap();
    let mut first = 0;
    for accesses in accesses.chunks(30_000) {
        export.block(&Block { first, accesses: accesses.to_vec(), events: vec![] }).unwrap();
        first += accesses.len() as u64;
    }
    export.finish(&mut |_| ()).unwrap();
    drop(export);
    bytes
}

fn rows(batches: impl Iterator<Item = RecordBatch>) -> Vec<Access> {
    let mut rows = Vec::new();
    for batch in batches {
        let column = |name: &str| batch.column_by_name(name).unwrap().clone();
        let (number, page) = (column("access"), column("page"));
        let (thread, weight) = (column("thread"), column("weight"));
        for i in 0..batch.num_rows() {
            assert_eq!(number.as_primitive::<UInt64Type>().value(i), rows.len() as u64);
            rows.push(Access {
                page: PageId(page.as_primitive::<UInt64Type>().value(i)),
                write: column("write").as_boolean().value(i),
                thread: thread.as_primitive::<UInt32Type>().value(i),
                weight: weight.as_primitive::<UInt32Type>().value(i),
            });
        }
        assert_eq!(page.null_count(), 0);
    }
    rows
}

#[test]
fn parquet_comes_back() {
    let accesses = accesses();
    let bytes = Bytes::from(exported(&accesses, ColumnFormat::Parquet));
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let keys = builder.metadata().file_metadata().key_value_metadata().unwrap();
    let entry = keys.iter().find(|entry| entry.key == "farside").unwrap();
    let json: serde_json::Value = serde_json::from_str(entry.value.as_ref().unwrap()).unwrap();
    assert_eq!((&json["program"], &json["page_shift"]), (&"made".into(), &12.into()));
    assert!(rows(builder.build().unwrap().map(Result::unwrap)) == accesses);
}

#[test]
fn arrow_comes_back() {
    let accesses = accesses();
    let bytes = exported(&accesses, ColumnFormat::Arrow);
    let reader = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    assert!(reader.schema().metadata()["farside"].contains("\"program\":\"made\""));
    assert!(rows(reader.map(Result::unwrap)) == accesses);
}

#[test]
fn a_trace_without_accesses_is_a_table_without_rows() {
    let bytes = Bytes::from(exported(&[], ColumnFormat::Parquet));
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
    assert!(rows(reader.map(Result::unwrap)).is_empty());
    let bytes = exported(&[], ColumnFormat::Arrow);
    assert_eq!(FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap().count(), 0);
}

/// A disk that is full from the beginning.
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    for format in [ColumnFormat::Parquet, ColumnFormat::Arrow] {
        let export = ColumnsExport::new(Full, format, &Metadata::default(), "table");
        let outcome = export.and_then(|mut export| {
            let block = Block { first: 0, accesses: accesses(), events: vec![] };
            export.block(&block)?;
            export.finish(&mut |_| ())
        });
        let said = outcome.unwrap_err().to_string();
        assert!(said.starts_with("table: cannot write the exported trace: "), "{said}");
    }
}
