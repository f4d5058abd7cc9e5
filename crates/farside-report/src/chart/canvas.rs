//! One drawing in two formats.
//!
//! The drawing library counts in whole pixels. Charts are drawn four times as large as they are shown,
//! so that lines are smooth: an SVG is shrunk by whoever shows it, a PNG by averaging to twice the size
//! in CSS pixels.

use std::io::Cursor;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::prelude::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::{BLACK, Color, FontStyle, IntoFont, RGBColor, TextStyle, WHITE};

use super::{ChartError, HEIGHT, WIDTH};

/// Units of the drawing in a CSS pixel.
pub const UNIT: u32 = 4;

/// Pixels of a PNG in a CSS pixel.
const PNG_SCALE: u32 = 2;

/// What drawing returns.
pub type Drawn<T, B> = Result<T, DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// A chart that can draw itself.
pub trait Picture {
    /// For error messages and readers of the screen.
    fn title(&self) -> &str;

    /// Draws itself.
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<(), B>;
}

/// CSS pixels in units of the drawing.
pub const fn px(pixels: u32) -> i32 {
    (pixels * UNIT) as i32
}

/// Text of a size in CSS pixels.
pub fn text(pixels: u32) -> TextStyle<'static> {
    coloured(pixels, BLACK)
}

/// Text of a size in CSS pixels, in a colour.
pub fn coloured(pixels: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", px(pixels)).into_font().color(&colour.mix(1.0))
}

/// Width of a text in units.
pub fn width_of<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    words: &str,
    style: &TextStyle<'_>,
) -> i32 {
    area.estimate_text_size(words, style).map_or(0, |(width, _)| width as i32)
}

/// As much of a text as fits a width; what was cut from its beginning is told by dots.
pub fn fitted<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    words: &str,
    style: &TextStyle<'_>,
    width: i32,
) -> String {
    if width_of(area, words, style) <= width {
        return words.to_owned();
    }
    let letters: Vec<char> = words.chars().collect();
    let tail = |from: usize| format!("\u{2026}{}", letters[from..].iter().collect::<String>());
    let fits = |from: &usize| width_of(area, &tail(*from), style) <= width;
    (1..letters.len()).find(fits).map_or_else(String::new, tail)
}

/// The picture as SVG.
///
/// # Errors
/// If it cannot be drawn.
pub fn to_svg<P: Picture>(picture: &P) -> Result<String, ChartError> {
    let mut svg = String::new();
    {
        let size = (WIDTH * UNIT, HEIGHT * UNIT);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        paint(picture, &area)?;
    }
    // Names may hold anything, but XML may not.
    svg.retain(|letter| !letter.is_control() || letter == '\n');
    let drawn = format!("width=\"{}\" height=\"{}\"", WIDTH * UNIT, HEIGHT * UNIT);
    let shown = format!("width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\"");
    Ok(svg.replacen(&drawn, &shown, 1))
}

/// The picture as PNG.
///
/// # Errors
/// If it cannot be drawn or compressed.
pub fn to_png<P: Picture>(picture: &P) -> Result<Vec<u8>, ChartError> {
    let (width, height) = (WIDTH * UNIT, HEIGHT * UNIT);
    let mut pixels = vec![0; (width * height * 3) as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        paint(picture, &area)?;
    }
    let small = averaged(&pixels, width as usize, (UNIT / PNG_SCALE) as usize);
    encode(&small, WIDTH * PNG_SCALE, HEIGHT * PNG_SCALE)
        .map_err(|source| ChartError::Png { title: picture.title().to_owned(), source })
}

/// Red, green and blue bytes as PNG.
///
/// # Errors
/// If there are not as many bytes as the size asks for.
pub fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(Cursor::new(&mut bytes), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

fn paint<P: Picture, B: DrawingBackend>(
    picture: &P,
    area: &DrawingArea<B, Shift>,
) -> Result<(), ChartError> {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        let font = include_bytes!("../../assets/DejaVuSans-subset.ttf");
        // The only error is a file that is no font, which the tests would see.
        let _ = plotters::style::register_font("sans-serif", FontStyle::Normal, font);
    });
    area.fill(&WHITE).and_then(|()| picture.draw(area)).and_then(|()| area.present()).map_err(
        |error| ChartError::Drawing {
            title: picture.title().to_owned(),
            reason: error.to_string(),
        },
    )
}

/// Each square of `by` pixels as one.
fn averaged(pixels: &[u8], width: usize, by: usize) -> Vec<u8> {
    let row = width * 3;
    let mut small = Vec::with_capacity(pixels.len() / by / by);
    for rows in pixels.chunks_exact(row * by) {
        for x in (0..width).step_by(by) {
            for channel in 0..3 {
                let square = (0..by * by).map(|i| rows[i / by * row + (x + i % by) * 3 + channel]);
                let sum: usize = square.map(usize::from).sum();
                small.push((sum / (by * by)) as u8);
            }
        }
    }
    small
}
