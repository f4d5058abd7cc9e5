//! Parsing of `--far`.

use std::time::Duration;

use farside_wire::url::{BadUrl, Compression, Embedded, FarUrl, LEAST_BANDWIDTH};
use proptest::prelude::*;

#[test]
fn the_documented_example_means_what_it_says() {
    let far: FarUrl = "embedded:latency=5us,bandwidth=25gbit,compress=lz4".parse().unwrap();
    assert_eq!(
        far,
        FarUrl::Embedded(Embedded {
            latency: Duration::from_micros(5),
            bandwidth: Some(25_000_000_000),
            compress: Compression::Lz4,
        })
    );
    for plain in ["embedded", "embedded:", "embedded:compress=none"] {
        assert_eq!(plain.parse(), Ok(FarUrl::default()), "{plain}");
    }
    let far: FarUrl = "embedded:latency=1.5ms".parse().unwrap();
    assert_eq!(
        far,
        FarUrl::Embedded(Embedded { latency: Duration::from_micros(1500), ..Embedded::default() })
    );
}

#[test]
fn refusals_say_what_there_is() {
    let refused = |text: &str| text.parse::<FarUrl>().unwrap_err();
    assert_eq!(refused("redis://host"), BadUrl::Scheme("redis".into()));
    assert!(refused("tcp:host").to_string().contains("embedded"));
    assert_eq!(refused("embedded:jitter=1us"), BadUrl::Option("jitter".into()));
    assert_eq!(refused("embedded:latency=1us,latency=2us"), BadUrl::Twice("latency"));
    for bad in ["latency=5", "latency=us", "latency=1.2.3us", "latency=11s", "latency=-1us"] {
        let text = format!("embedded:{bad}");
        assert!(
            matches!(refused(&text), BadUrl::Value { name: "latency", .. }),
            "{bad} was not refused as a latency"
        );
    }
    for bad in ["bandwidth=0gbit", "bandwidth=10gb", "bandwidth=", "bandwidth=1e5gbit"] {
        assert!(
            matches!(refused(&format!("embedded:{bad}")), BadUrl::Value { name: "bandwidth", .. }),
            "{bad} was not refused as a bandwidth"
        );
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(
        ns in 0u64..=10_000_000_000,
        bandwidth in proptest::option::of(LEAST_BANDWIDTH..=1_000_000_000_000_000),
        lz4: bool,
    ) {
        let far = FarUrl::Embedded(Embedded {
            latency: Duration::from_nanos(ns),
            bandwidth,
            compress: if lz4 { Compression::Lz4 } else { Compression::None },
        });
        prop_assert_eq!(far.to_string().parse(), Ok(far));
    }

    #[test]
    fn any_text_is_refused_or_read_without_a_panic(text in ".{0,80}") {
        if let Ok(far) = text.parse::<FarUrl>() {
            prop_assert_eq!(far.to_string().parse(), Ok(far));
        }
    }

    #[test]
    fn near_misses_are_handled(text in "embedded:(latency|bandwidth|compress|x)?=?[0-9.eE+-]{0,9}[a-zµ]{0,4},?.{0,6}") {
        let _ = text.parse::<FarUrl>();
    }
}
