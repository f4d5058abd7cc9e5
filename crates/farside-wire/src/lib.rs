//! Message formats, framing and transports between programs, their supervisor and memory nodes.

pub mod control;
pub mod fault_log;
pub mod figures;
pub mod frame;
pub mod hint_board;
pub mod offload;
pub mod orders;
pub mod page_part;
pub mod pool;
pub mod queue;
pub mod recording;
pub mod tape_image;
pub mod transport;
