//! Charts as a reader sees them.

use farside_report::chart::{Axis, BarChart, HeatMap, LineChart, RowLabel, Series};

const NAMES: [&str; 10] =
    ["lru", "opt", "fifo", "second-chance", "clock1", "2q", "arc", "lirs", "s3-fifo", "clock-pro"];

fn curve(name: &str, number: usize, points: usize) -> Series {
    let point = |i: usize| {
        let x = 100.0 * (i as f64 + 0.3);
        (x, 4e6 / (1.0 + x / (900.0 + 130.0 * number as f64)))
    };
    Series { name: name.to_owned(), points: (0..points).map(point).collect() }
}

fn lines(y: Axis) -> LineChart {
    let series =
        NAMES.iter().enumerate().map(|(i, name)| curve(name, i, if i < 2 { 400 } else { 12 }));
    LineChart {
        title: "Misses by size of memory: a < b & c".to_owned(),
        x: Axis::linear("memory, pages"),
        y,
        series: series.collect(),
        steps: false,
    }
}

fn bars() -> BarChart {
    let value = |i: usize| (0..6).map(|j| ((i * 7 + j * 13) % 17) as f64 * 1e4).collect();
    BarChart {
        title: "Run time by program".to_owned(),
        groups: ["fft", "lu contiguous", "lu non-contiguous", "ocean", "radix", "cg"]
            .map(str::to_owned)
            .to_vec(),
        series: ["lru", "lirs", "region"]
            .iter()
            .zip(0..)
            .map(|(n, i)| ((*n).into(), value(i)))
            .collect(),
        y: Axis::linear("cycles"),
    }
}

fn heat() -> HeatMap {
    let (columns, rows) = (120, 48);
    let cell = |i: usize| {
        let (x, y) = (i % columns, i / columns);
        if (x / 20 + y / 12) % 3 == 0 { 0.0 } else { ((x * y) % 97) as f32 * 100.0 }
    };
    let label = |first, rows, name: &str| RowLabel { first, rows, name: name.to_owned() };
    HeatMap {
        title: "Accesses by time and page".to_owned(),
        x: Axis::linear("time, accesses"),
        y: Axis::linear("pages"),
        unit: "accesses a cell".to_owned(),
        columns,
        rows,
        x_range: (0.0, 34_466_388.0),
        y_range: (0.0, 1722.0),
        cells: (0..columns * rows).map(cell).collect(),
        row_labels: vec![
            label(0, 2, "/usr/bin/sort"),
            label(2, 30, "[heap]"),
            label(32, 1, "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"),
            label(33, 1, "/usr/lib/x86_64-linux-gnu/a very long name of a library/libc.so.6"),
            label(34, 13, "[anon]"),
            label(47, 1, "[stack]"),
        ],
    }
}

/// Writes the pictures where one can look at them, if a folder is named.
fn keep(name: &str, svg: &str, png: &[u8]) {
    if let Some(folder) = std::env::var_os("FARSIDE_CHARTS") {
        let path = std::path::Path::new(&folder).join(name);
        std::fs::write(path.with_extension("svg"), svg).unwrap();
        std::fs::write(path.with_extension("png"), png).unwrap();
    }
}

#[test]
fn every_chart_is_a_picture_in_both_formats() {
    let log = LineChart { x: Axis::log("memory, pages"), ..lines(Axis::log("misses")) };
    let charts = [
        ("line", lines(Axis::linear("misses")).to_svg(), lines(Axis::linear("misses")).to_png()),
        ("log", log.to_svg(), log.to_png()),
        ("bar", bars().to_svg(), bars().to_png()),
        ("heat", heat().to_svg(), heat().to_png()),
    ];
    for (name, svg, png) in charts {
        let (svg, png) = (svg.unwrap(), png.unwrap());
        keep(name, &svg, &png);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}");
        assert!(svg.contains("width=\"900\" height=\"460\""), "{name}: {}", &svg[..200]);
        assert!(svg.contains("viewBox=\"0 0 3600 1840\""), "{name}: {}", &svg[..200]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
        let mut reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().unwrap();
        assert_eq!((reader.info().width, reader.info().height), (1800, 920), "{name}");
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let dark = pixels.chunks(3).filter(|pixel| pixel.iter().all(|c| *c < 100)).count();
        assert!(dark > 2000, "{name}: text and lines are black on white, {dark} pixels are");
    }
}

#[test]
fn every_series_has_its_name_and_titles_are_escaped() {
    let svg = lines(Axis::linear("misses")).to_svg().unwrap();
    for name in NAMES {
        assert!(svg.contains(&format!("\n{name}\n")), "{name} is not in the picture");
    }
    assert!(svg.contains("a &lt; b &amp; c"));
    let mut map = heat();
    map.row_labels[1].name = "</text><script>alert(1)</script>".to_owned();
    let svg = map.to_svg().unwrap();
    assert!(!svg.contains("<script"), "names are escaped");
}

#[test]
fn charts_without_numbers_are_still_pictures() {
    LineChart::default().to_svg().unwrap();
    BarChart::default().to_svg().unwrap();
    HeatMap::default().to_svg().unwrap();
    HeatMap::default().to_png().unwrap();
    let odd = vec![(f64::NAN, 1.0), (1.0, f64::INFINITY), (-5.0, 0.0), (0.0, 0.0)];
    let odd = Series { name: "odd".to_owned(), points: odd };
    let chart = LineChart { y: Axis::log("y"), series: vec![odd], ..LineChart::default() };
    assert!(!chart.to_svg().unwrap().contains("NaN"));
}
