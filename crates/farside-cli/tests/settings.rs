//! Sizes, percentages, files and the order of sources.

use std::path::Path;

use farside_cli::Failure;
use farside_cli::options::{
    BadLocal, Given, Layer, Local, MAX_SIZE, Options, Origin, Size, parse_size,
};
use farside_far::FarUrl;
use farside_pager::settings::{LEAST_LIMIT, Settings};
use proptest::prelude::*;

fn from_toml(text: &str) -> Result<Layer, Failure> {
    Layer::from_toml(text, Path::new("far.toml"))
}

#[test]
fn sizes_mean_what_they_say() {
    for (text, bytes) in [
        ("400M", 400 << 20),
        ("1.5GiB", 3 << 29),
        ("409600", 409_600),
        ("2k", 2048),
        ("1MB", 1_000_000),
        ("3 GiB", 3 << 30),
        ("0.5K", 512),
        ("128T", MAX_SIZE),
        ("7b", 7),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for text in ["", "M", "-1M", "1X", "1MM", "1e9", "1.2.3M", "0x10", "inf", "NaN", "1 2"] {
        assert_eq!(parse_size(text), Err(BadLocal::Unreadable), "{text}");
    }
    for text in ["129T", "99999999999999999999", "18446744073709551615T"] {
        assert_eq!(parse_size(text), Err(BadLocal::TooLarge), "{text}");
    }
}

#[test]
fn limits_are_sizes_that_can_work_or_percentages() {
    assert_eq!("25%".parse(), Ok(Local::Percent(25.0)));
    assert_eq!("12.5 %".parse(), Ok(Local::Percent(12.5)));
    assert_eq!("1M".parse(), Ok(Local::Bytes(LEAST_LIMIT)));
    assert_eq!("1023K".parse::<Local>(), Err(BadLocal::TooSmall));
    assert!(BadLocal::TooSmall.to_string().contains(&Size(LEAST_LIMIT).to_string()));
    for text in ["0%", "1001%"] {
        assert_eq!(text.parse::<Local>(), Err(BadLocal::Percentage), "{text}");
    }
    for text in ["%", "-5%", "x%", "1%%"] {
        assert_eq!(text.parse::<Local>(), Err(BadLocal::Unreadable), "{text}");
    }
}

#[test]
fn sizes_print_readably() {
    for (bytes, text) in [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (400 << 20, "400 MiB"),
        ((1 << 20) - 1, "1 MiB"),
        (1 << 47, "128 TiB"),
    ] {
        assert_eq!(Size(bytes).to_string(), text);
    }
}

#[test]
fn a_file_has_the_keys_of_the_options() {
    let layer = from_toml(
        "local = 1_048_576\nfar = 'embedded:latency=5us'\nreadahead = 8\nreplacement = 'fifo'\n\
         prefetch = 'none'\nexact-prefetch-count = true\nstats = 'out.json'\nquiet = true\n\
         progress = false\n",
    );
    let options = Options::from_layer(&layer.unwrap()).unwrap();
    assert_eq!(options.local, Some(Local::Bytes(1 << 20)));
    assert_eq!(options.far, "embedded:latency=5us".parse().unwrap());
    assert_eq!((options.readahead, options.quiet, options.progress), (8, true, false));
    assert_eq!((options.replacement.as_str(), options.prefetch.as_str()), ("fifo", "none"));
    assert!(options.exact_prefetch_count);
    assert_eq!(options.stats, Some("out.json".into()));
}

#[test]
fn nothing_given_means_the_documented_defaults() {
    let options = Options::from_layer(&from_toml("").unwrap()).unwrap();
    let defaults = Settings::default();
    assert_eq!(options.settings(defaults.limit), defaults);
    assert_eq!(options.far, FarUrl::default());
    assert_eq!((options.local, options.quiet), (None, false));
}

#[test]
fn whether_pages_are_sealed_is_said_in_the_url_or_beside_it() {
    for (text, seal) in [
        ("far = 'file:/tmp?seal=yes'", true),
        ("far = 'file:/tmp?seal=yes'\nseal = false", false),
        ("far = 'file:/tmp'\nseal = true\ncopies = 1", true),
        ("far = 'file:/tmp'", false),
    ] {
        let options = Options::from_layer(&from_toml(text).unwrap()).unwrap();
        let FarUrl::File(file) = options.far else { panic!("{text}") };
        assert_eq!(file.seal, seal, "{text}");
    }
}

#[test]
fn errors_in_a_file_name_its_line() {
    for (text, line, words) in [
        ("quiet = true\nlocl = '1G'\n", 2, "no setting \"locl\""),
        ("\n\nquiet = 'yes'\n", 3, "quiet must be true or false"),
        ("readahead = '8'\n", 1, "readahead must be a whole number"),
        ("far = 3\n", 1, "far must be a string"),
        ("quiet = true\nlocal = \n", 2, ""),
        ("quiet = true\n[run]\nquiet = true\n", 2, "no setting \"run\""),
    ] {
        let message = from_toml(text).unwrap_err().message;
        assert!(message.starts_with(&format!("far.toml:{line}: ")), "{message}");
        assert!(message.contains(words), "{message}");
    }
    let layer = from_toml("quiet = true\nlocal = '3 apples'\n").unwrap();
    let message = Options::from_layer(&layer).unwrap_err().message;
    assert!(message.starts_with("far.toml:2: local=3 apples: not a size"), "{message}");
}

#[test]
fn options_win_over_environment_over_file() {
    let option = |text: &str| Given { text: text.into(), origin: Origin::Option("--prefetch") };
    let options = Layer { prefetch: Some(option("none")), ..Layer::default() };
    let environment = Layer::from_environment(|name| match name {
        "FARSIDE_PREFETCH" => Some("readahead".into()),
        "FARSIDE_READAHEAD" => Some("3".into()),
        "FARSIDE_LOCAL" => Some(String::new()),
        _ => None,
    });
    let file = from_toml("prefetch = 'linux'\nreadahead = 5\nlocal = '2M'\n").unwrap();
    let options = Options::from_layer(&options.or(environment).or(file)).unwrap();
    assert_eq!(options.prefetch, "none");
    assert_eq!(options.readahead, 3);
    assert_eq!(options.local, Some(Local::Bytes(2 << 20)), "an empty variable counts as unset");
}

#[test]
fn names_are_checked_and_listed() {
    let layer = from_toml("replacement = 'arc'\n").unwrap();
    let message = Options::from_layer(&layer).unwrap_err().message;
    assert!(message.contains("fifo") && message.contains("second-chance"), "{message}");
    let layer = from_toml("far = 'ftp://host'\n").unwrap();
    let message = Options::from_layer(&layer).unwrap_err().message;
    assert!(message.contains("embedded") && message.contains("tcp://"), "{message}");
    let layer = from_toml("readahead = 513\n").unwrap();
    assert!(Options::from_layer(&layer).is_err());
}

proptest! {
    #[test]
    fn any_text_is_a_size_or_refused(text in ".{0,24}") {
        if let Ok(bytes) = parse_size(&text) {
            prop_assert!(bytes <= MAX_SIZE);
        }
        let _ = text.parse::<Local>();
    }

    #[test]
    fn near_sizes_never_panic(text in "[0-9.]{0,25} ?[kKmMgGtTéiIbB%]{0,4}") {
        if let Ok(local) = text.parse::<Local>() {
            // What is understood survives being printed and read again.
            prop_assert_eq!(local.to_string().parse::<Local>(), Ok(local));
        }
    }

    #[test]
    fn whole_sizes_are_exact(number in 0u64..1 << 20, unit in 0usize..3) {
        let text = format!("{number}{}", ["", "K", "MiB"][unit]);
        prop_assert_eq!(parse_size(&text), Ok(number << (10 * unit)));
    }

    #[test]
    fn any_file_is_read_or_refused_in_one_line(text in "([a-z-]{1,10} ?= ?[0-9a-z'\"\\[\\]{}.]{0,9}\n){0,4}.{0,20}") {
        match from_toml(&text) {
            Ok(layer) => drop(Options::from_layer(&layer)),
            Err(failure) => {
                prop_assert_eq!(failure.code, 2);
                prop_assert_eq!(failure.message.lines().count(), 1, "{}", failure.message);
            }
        }
    }

    #[test]
    fn any_far_memory_is_read_or_refused(text in "(embedded:)?((latency|bandwidth|compress)=[0-9.]{0,5}[a-z]{0,4},?){0,3}.{0,5}") {
        let _ = text.parse::<FarUrl>();
    }

    #[test]
    fn far_memory_survives_being_passed_on(latency_ns in 0u64..=10_000_000_000, kbit in 0u64..1_000_000_000, lz4: bool) {
        let compression = if lz4 { farside_far::Compression::Lz4 } else { farside_far::Compression::None };
        let far = FarUrl::Embedded { latency_ns, bits_per_second: kbit * 1000, compression };
        prop_assert_eq!(far.to_string().parse(), Ok(far));
    }
}
