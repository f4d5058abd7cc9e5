//! What each policy and prefetcher does, in one program: each more would be linked anew.

#[path = "../support/mod.rs"]
mod support;

mod adaptive;
mod adaptive_replacement;
mod clock_pro;
mod eden;
mod fetched_ahead;
mod golden;
mod in_run;
mod leap;
mod linux_swap;
mod lists;
mod pointer;
mod proximity;
mod proximity_in_run;
mod region;
mod region_curves;
mod region_in_run;
mod region_map;
mod region_model;
mod s3_fifo;
mod second_chance;
mod spatial;
mod tape;
