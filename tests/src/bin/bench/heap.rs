//! Whether a launch by the library costs more in a process with a large heap, as it does where a launcher forks.

use crate::fault::Fault;
use crate::place::Place;
use crate::row::{Cost, Row};
use crate::statistics::{median, milliseconds};

const GIBIBYTE: usize = 1 << 30;
const PAGE: usize = 4096;

/// Medians in milliseconds.
pub(crate) struct Heap {
    pub(crate) without: f64,
    pub(crate) with: f64,
}

impl Heap {
    pub(crate) fn ratio(&self) -> f64 {
        self.with / self.without
    }
}

/// Blocks with and without the heap take turns, so that a slow moment meets both.
pub(crate) fn measure(place: &Place, rounds: usize) -> Result<Heap, Fault> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..rounds.div_ceil(5) {
        without.extend(block(place)?);
        let heap = touched();
        with.extend(block(place)?);
        drop(std::hint::black_box(heap));
    }
    let middle = |costs: Vec<Cost>| median(costs.iter().map(|cost| milliseconds(cost.wall)));
    Ok(Heap { without: middle(without), with: middle(with) })
}

fn block(place: &Place) -> Result<Vec<Cost>, Fault> {
    (0..5).map(|_| Row::LibraryBwrap.launch(place)).collect()
}

fn touched() -> Vec<u8> {
    let mut heap = vec![0_u8; GIBIBYTE];
    for page in heap.chunks_mut(PAGE) {
        page.fill(1);
    }
    heap
}
