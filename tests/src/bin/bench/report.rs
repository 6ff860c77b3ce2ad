//! The figures, as tables and as JSON.

use serde_json::{Value, json};

use crate::asking::{self, Costs, MANY};
use crate::fault::Fault;
use crate::growth::{self, Point};
use crate::heap::{self, Heap};
use crate::judging::{self, Judged};
use crate::options::{Format, Options};
use crate::peak;
use crate::place::Place;
use crate::rounds::{self, Series};
use crate::row::Row;

/// VmHWM of `confine` should stay below this many KiB.
const PEAK: u64 = 8 * 1024;
/// A launch from a process with a large heap should take at most this many times one from a small process.
const HEAP: f64 = 1.2;

/// Judging the largest output should take less than so many milliseconds.
const JUDGING: f64 = 10.0;
/// From a denial to the prompt should take less than so many milliseconds.
const PROMPT: f64 = 50.0;
/// VmHWM of a process with many questions should stay below this many KiB.
const ASKING: u64 = 64 * 1024;

/// Everything measured.
pub(crate) struct Report {
    rounds: usize,
    series: Vec<Series>,
    /// Not where single rows were asked for.
    more: Option<More>,
}

/// The other tables.
struct More {
    peaks: Vec<(Row, u64)>,
    points: Vec<Point>,
    heap: Heap,
    judged: Vec<Judged>,
    asking: Costs,
}

/// A figure beside what we want of it.
struct Ratio {
    base: &'static str,
    value: f64,
    target: f64,
}

impl Report {
    /// Measures it all.
    pub(crate) fn measure(options: &Options) -> Result<Self, Fault> {
        let place = Place::new(options)?;
        let rows = if options.rows.is_empty() { &Row::ALL[..] } else { &options.rows };
        let series = rounds::measure(&place, rows, options.rounds)?;
        let more = options.rows.is_empty().then(|| More::measure(&place, options)).transpose()?;
        Ok(Self { rounds: options.rounds, series, more })
    }

    /// On stdout.
    pub(crate) fn print(&self, format: Format) {
        match format {
            Format::Json => println!("{:#}", self.json()),
            Format::Table => self.tables(),
        }
    }

    fn ratio(&self, one: &Series) -> Option<Ratio> {
        let target = one.row.target()?;
        let base = self.series.iter().find(|series| series.row == target.base)?;
        Some(Ratio { base: target.base.name(), value: one.ratio(base), target: target.ratio })
    }

    fn tables(&self) {
        println!("launch of /bin/true, {} rounds, times in ms, ratios: median of pairs\n", self.rounds);
        println!("{:18} {:>8} {:>8} {:>8}   ratio", "row", "median", "p99", "cpu");
        for one in &self.series {
            let ratio = self.ratio(one).map_or(String::new(), |ratio| ratio.text());
            println!(
                "{:18} {:8.2} {:8.2} {:8.2}   {ratio}",
                one.row.name(),
                one.median(),
                one.p99(),
                one.processor()
            );
        }
        if let Some(more) = &self.more {
            more.tables();
        }
    }

    fn json(&self) -> Value {
        let rows = self.series.iter().map(|one| {
            let ratio = self.ratio(one);
            json!({
                "row": one.row.name(), "median_ms": one.median(), "p99_ms": one.p99(), "cpu_ms": one.processor(),
                "ratio": ratio.map(|ratio| json!({"base": ratio.base, "median": ratio.value, "target": ratio.target})),
            })
        });
        let mut report = json!({"version": 1, "rounds": self.rounds, "rows": rows.collect::<Value>()});
        if let (Value::Object(report), Some(more)) = (&mut report, &self.more) {
            report.extend(more.json());
        }
        report
    }
}

impl More {
    fn measure(place: &Place, options: &Options) -> Result<Self, Fault> {
        let peaks = [Row::CliBwrap, Row::CliLandlock].into_iter();
        let peaks = peaks.map(|row| Ok((row, peak::kibibytes(place, row)?))).collect::<Result<_, _>>()?;
        let points = growth::measure(place, options.few())?;
        let heap = heap::measure(place, options.few())?;
        let judged = judging::measure(place, options.few())?;
        let asking = asking::measure(place, options.few())?;
        Ok(Self { peaks, points, heap, judged, asking })
    }

    fn tables(&self) {
        println!("\npeak memory of confine (VmHWM)");
        for (row, size) in &self.peaks {
            println!("{:18} {size:8} KiB   {}", row.name(), met(*size < PEAK, &format!("below {PEAK} KiB")));
        }
        println!("\ngrowth, library launch");
        for point in &self.points {
            let figure = match &point.median {
                Ok(median) => format!("{median:8.2} ms"),
                Err(reason) => format!("refused: {reason}"),
            };
            println!("{:18} {:8} {figure}", point.what.name(), point.count);
        }
        println!("\nlibrary-bwrap from a process with 1 GiB of touched heap");
        let ratio = Ratio { base: "one without", value: self.heap.ratio(), target: HEAP };
        println!(
            "{:18} {:8.2} ms, {:.2} ms without   {}",
            "",
            self.heap.with,
            self.heap.without,
            ratio.text()
        );
        println!("\njudging a failed command, by the size of its standard error");
        for one in &self.judged {
            let target = met(one.median < JUDGING, &format!("below {JUDGING} ms"));
            println!("{:18} {:8} KiB {:8.2} ms   {target}", one.text, one.size, one.median);
        }
        println!("\nasking, on the disk");
        let Costs { prompt, many, peak } = &self.asking;
        let target = met(*prompt < PROMPT, &format!("below {PROMPT} ms"));
        println!("{:18} {prompt:8.2} ms   {target}", "denial to prompt");
        let target = met(*peak < ASKING, &format!("below {ASKING} KiB"));
        println!("{MANY} at once, in order {many:8.2} ms {peak:8} KiB   {target}");
    }

    fn json(&self) -> impl Iterator<Item = (String, Value)> {
        let peaks = self
            .peaks
            .iter()
            .map(|(row, size)| json!({"row": row.name(), "peak_kib": size, "target_kib": PEAK}));
        let points = self.points.iter().map(|point| {
            let (median, refusal) = (point.median.as_ref().ok(), point.median.as_ref().err());
            json!({"what": point.what.name(), "count": point.count, "median_ms": median, "refusal": refusal})
        });
        let judged = self.judged.iter().map(
            |one| json!({"text": one.text, "kib": one.size, "median_ms": one.median, "target_ms": JUDGING}),
        );
        let heap = &self.heap;
        let heap =
            json!({"with_ms": heap.with, "without_ms": heap.without, "ratio": heap.ratio(), "target": HEAP});
        let Costs { prompt, many, peak } = &self.asking;
        let asking = json!({
            "prompt_ms": prompt, "prompt_target_ms": PROMPT, "questions": MANY, "many_ms": many, "peak_kib": peak,
            "peak_target_kib": ASKING,
        });
        let tables: [(&str, Value); 5] = [
            ("peaks", peaks.collect()),
            ("growth", points.collect()),
            ("heap", heap),
            ("judging", judged.collect()),
            ("asking", asking),
        ];
        tables.into_iter().map(|(name, table)| (name.to_owned(), table))
    }
}

impl Ratio {
    fn text(&self) -> String {
        let want = format!("at most {:.2}", self.target);
        format!("{:.2} x {}   {}", self.value, self.base, met(self.value <= self.target, &want))
    }
}

fn met(is_met: bool, target: &str) -> String {
    format!("({target}: {})", if is_met { "met" } else { "NOT met" })
}
