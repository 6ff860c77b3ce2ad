//! What a run is told while it lasts, by its caller and by its own watchers.

use std::time::Duration;

use confine_core::AbsPath;
use nix::unistd::Pid;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use crate::guard::MaskWatch;
use crate::tree;

/// Between two looks at the tree's memory. What is allocated and freed in between is not seen.
const SAMPLING: Duration = Duration::from_millis(100);

/// One wish or finding.
#[derive(Debug)]
pub(crate) enum Order {
    /// A signal for the program's process group.
    Signal(i32),
    /// End the tree; with the signal that the caller itself got, where it was one.
    Cancel(Option<i32>),
    /// The tree's memory reached the limit.
    OverMemory,
    /// The file under a mask was replaced.
    MaskLost(AbsPath),
}

/// The watchers of a run: tasks that send at most one order each.
pub(crate) fn watchers(
    orders: &UnboundedSender<Order>,
    wrapper: Pid,
    memory: Option<u64>,
    masks: Option<MaskWatch>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    if let Some(bound) = memory {
        tasks.spawn(watch_memory(orders.clone(), wrapper, bound));
    }
    if let Some(masks) = masks {
        tasks.spawn(watch_masks(orders.clone(), masks));
    }
    tasks
}

async fn watch_memory(orders: UnboundedSender<Order>, wrapper: Pid, bound: u64) {
    loop {
        sleep(SAMPLING).await;
        // A walk over /proc may take milliseconds for a large tree.
        let resident = spawn_blocking(move || tree::resident(wrapper, bound)).await;
        if resident.is_ok_and(|resident| resident >= bound) {
            let _ = orders.send(Order::OverMemory);
            return;
        }
    }
}

async fn watch_masks(orders: UnboundedSender<Order>, mut masks: MaskWatch) {
    let path = masks.lost().await;
    let _ = orders.send(Order::MaskLost(path));
}
