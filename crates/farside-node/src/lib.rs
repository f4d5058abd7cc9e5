//! The memory node server.
