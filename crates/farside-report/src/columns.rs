//! Apache Arrow and Parquet: one row for each access.
//!
//! The columns are `access` (number, 64 bits), `page` (64 bits), `write` (boolean), `thread` and
//! `weight` (32 bits), none of them ever null. What the trace says about itself is kept as JSON under
//! the key `farside`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array, UInt64Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use farside_trace::export::Export;
use farside_trace::{Access, Block, Metadata, TraceError};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

/// Key of the metadata.
const METADATA_KEY: &str = "farside";

/// Rows that are compressed together in a Parquet file.
const ROW_GROUP: usize = 1 << 20;

/// A column format of Apache.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnFormat {
    /// Parquet, compressed with zstd.
    Parquet,
    /// The file format of Arrow IPC, also called Feather 2, compressed with zstd.
    Arrow,
}

enum Writer<W: Write + Send> {
    Parquet(Option<Box<ArrowWriter<W>>>),
    Arrow(Box<FileWriter<W>>),
}

/// Writes a trace as a table. Mapping events have no place in it.
pub struct ColumnsExport<W: Write + Send> {
    writer: Writer<W>,
    schema: SchemaRef,
    path: PathBuf,
}

impl<W: Write + Send> ColumnsExport<W> {
    /// Writes a table to `sink`; `name` stands for it in error messages.
    ///
    /// # Errors
    /// [`TraceError::Export`] if its beginning cannot be written.
    pub fn new(
        sink: W,
        format: ColumnFormat,
        metadata: &Metadata,
        name: impl Into<PathBuf>,
    ) -> Result<Self, TraceError> {
        let path = name.into();
        let failed = |source| TraceError::Export { path: path.clone(), source };
        let schema = schema(metadata).map_err(|error| failed(error.into()))?;
        let writer = match format {
            ColumnFormat::Parquet => parquet_writer(sink, &schema).map_err(parquet_error),
            ColumnFormat::Arrow => arrow_writer(sink, &schema).map_err(arrow_error),
        };
        Ok(Self { writer: writer.map_err(failed)?, schema, path })
    }

    fn put(&mut self, block: &Block) -> io::Result<()> {
        let batch = batch(block, &self.schema).map_err(arrow_error)?;
        match &mut self.writer {
            Writer::Parquet(Some(writer)) => writer.write(&batch).map_err(parquet_error),
            Writer::Parquet(None) => Err(io::Error::other("the file is finished already")),
            Writer::Arrow(writer) => writer.write(&batch).map_err(arrow_error),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Parquet(writer) => match writer.take() {
                Some(writer) => writer.into_inner().map_err(parquet_error)?.flush(),
                None => Ok(()),
            },
            Writer::Arrow(writer) => {
                writer.finish().map_err(arrow_error)?;
                writer.get_mut().flush()
            }
        }
    }
}

impl<W: Write + Send> Export for ColumnsExport<W> {
    fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        self.put(block).map_err(|source| TraceError::Export { path: self.path.clone(), source })
    }

    fn finish(&mut self, _: &mut dyn FnMut(f64)) -> Result<(), TraceError> {
        self.end().map_err(|source| TraceError::Export { path: self.path.clone(), source })
    }
}

fn schema(metadata: &Metadata) -> Result<SchemaRef, serde_json::Error> {
    let mut json = serde_json::to_value(metadata)?;
    json["page_shift"] = metadata.page_shift.into();
    let fields = [
        ("access", DataType::UInt64),
        ("page", DataType::UInt64),
        ("write", DataType::Boolean),
        ("thread", DataType::UInt32),
        ("weight", DataType::UInt32),
    ];
    let fields: Vec<_> =
        fields.into_iter().map(|(name, kind)| Field::new(name, kind, false)).collect();
    let metadata = HashMap::from([(METADATA_KEY.to_owned(), json.to_string())]);
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

fn parquet_writer<W: Write + Send>(sink: W, schema: &SchemaRef) -> Result<Writer<W>, ParquetError> {
    // The numbers of the accesses rise by one: nothing a dictionary could help.
    let number = ColumnPath::from("access");
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_column_dictionary_enabled(number.clone(), false)
        .set_column_encoding(number, Encoding::DELTA_BINARY_PACKED);
    if let Some(json) = schema.metadata().get(METADATA_KEY) {
        let entry = parquet::file::metadata::KeyValue::new(METADATA_KEY.to_owned(), json.clone());
        properties = properties.set_key_value_metadata(Some(vec![entry]));
    }
    let writer = ArrowWriter::try_new(sink, Arc::clone(schema), Some(properties.build()))?;
    Ok(Writer::Parquet(Some(Box::new(writer))))
}

fn arrow_writer<W: Write + Send>(sink: W, schema: &SchemaRef) -> Result<Writer<W>, ArrowError> {
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?;
    let writer = FileWriter::try_new_with_options(sink, schema, options)?;
    Ok(Writer::Arrow(Box::new(writer)))
}

fn batch(block: &Block, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let accesses = &block.accesses;
    let numbers = (block.first..).take(accesses.len());
    let short = |of: fn(&Access) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(accesses.iter().map(of)))
    };
    let writes = accesses.iter().map(|access| access.write).collect::<Vec<_>>();
    RecordBatch::try_new(
        Arc::clone(schema),
        vec![
            Arc::new(UInt64Array::from_iter_values(numbers)),
            Arc::new(UInt64Array::from_iter_values(accesses.iter().map(|access| access.page.0))),
            Arc::new(BooleanArray::from(writes)),
            short(|access| access.thread),
            short(|access| access.weight),
        ],
    )
}

fn parquet_error(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

fn arrow_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}
