//! The far store: the client side of one or more memory nodes.
