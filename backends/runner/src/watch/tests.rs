use super::*;
use tokio::time::timeout;

struct Bench {
    _keep: tempfile::TempDir,
    top: AbsPath,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = AbsPath::new(keep.path().canonicalize().unwrap()).unwrap();
        std::fs::create_dir(top.join("git").unwrap()).unwrap();
        std::fs::write(top.join("git/config").unwrap(), "a").unwrap();
        Self { _keep: keep, top }
    }

    fn at(&self, name: &str) -> AbsPath {
        self.top.join(name).unwrap()
    }

    fn watch(&self) -> MaskWatch {
        MaskWatch::over(&[self.at("git"), self.at("git/config")]).unwrap()
    }

    fn replace(&self) {
        std::fs::write(self.at("git/new"), "b").unwrap();
        std::fs::rename(self.at("git/new"), self.at("git/config")).unwrap();
    }
}

/// What is done to which name.
type Act = (&'static str, fn(&Bench));

async fn seen(watch: &mut MaskWatch) -> Option<AbsPath> {
    timeout(Duration::from_millis(300), watch.lost()).await.ok()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn nothing_to_watch_is_no_watch() {
    assert!(MaskWatch::over(&[]).is_none());
}

#[test]
fn replacing_removing_and_moving_away_are_seen_and_writing_is_not() {
    let acts: [Act; 4] = [
        ("git/config", Bench::replace),
        ("git/config", |bench| std::fs::remove_file(bench.at("git/config")).unwrap()),
        ("git/config", |bench| std::fs::rename(bench.at("git/config"), bench.at("elsewhere")).unwrap()),
        ("git", |bench| std::fs::rename(bench.at("git"), bench.at("git2")).unwrap()),
    ];
    for (name, act) in acts {
        let bench = Bench::new();
        let mut watch = bench.watch();
        std::fs::write(bench.at("git/config"), "written in place").unwrap();
        std::fs::write(bench.at("git/other"), "").unwrap();
        std::fs::remove_file(bench.at("git/other")).unwrap();
        runtime().block_on(async {
            assert_eq!(seen(&mut watch).await, None);
            act(&bench);
            let lost = seen(&mut watch).await.expect(name);
            assert!(lost.is_within(&bench.at(name)), "{lost}");
        });
    }
}

#[test]
fn what_happens_before_the_first_wait_is_not_missed() {
    let bench = Bench::new();
    let mut watch = bench.watch();
    std::fs::remove_file(bench.at("git/config")).unwrap();
    assert_eq!(runtime().block_on(seen(&mut watch)), Some(bench.at("git/config")));
}

#[test]
fn a_wait_that_is_dropped_loses_nothing() {
    let bench = Bench::new();
    let mut watch = bench.watch();
    runtime().block_on(async {
        for _ in 0..3 {
            assert!(timeout(Duration::from_millis(5), watch.lost()).await.is_err());
        }
        bench.replace();
        assert_eq!(seen(&mut watch).await, Some(bench.at("git/config")));
    });
}

#[test]
fn an_overflow_compares_all() {
    let bench = Bench::new();
    let watch = bench.watch();
    assert_eq!(watch.stood().lost(), None);
    bench.replace();
    assert_eq!(watch.stood().lost(), Some(bench.at("git/config")));
}

#[test]
fn a_flood_of_events_does_not_hide_a_replacement() {
    let bench = Bench::new();
    let mut watch = bench.watch();
    for number in 0..20_000 {
        let path = bench.at(&format!("git/{}", number % 7));
        std::fs::write(&path, "").unwrap();
        std::fs::remove_file(&path).unwrap();
    }
    bench.replace();
    assert_eq!(runtime().block_on(seen(&mut watch)), Some(bench.at("git/config")));
}
