use super::*;
use confine_core::approval::async_trait;
use std::sync::Mutex;
use std::time::Duration;

/// Answers by a function, and notes that it was asked.
struct By<F> {
    answer: F,
    asked: Arc<Mutex<u32>>,
}

#[async_trait]
impl<F: Fn() -> Option<Answer> + Send + Sync> Approver for By<F> {
    async fn answer(&self, _: &ApprovalRequest) -> Option<Answer> {
        *self.asked.lock().unwrap() += 1;
        (self.answer)()
    }
}

/// Never answers, and notes that it was dropped.
struct Hanging(Arc<Mutex<u32>>);

struct Noted(Arc<Mutex<u32>>);

impl Drop for Noted {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[async_trait]
impl Approver for Hanging {
    async fn answer(&self, _: &ApprovalRequest) -> Option<Answer> {
        let _noted = Noted(self.0.clone());
        std::future::pending().await
    }
}

fn by(answer: impl Fn() -> Option<Answer> + Send + Sync + 'static) -> (Arc<dyn Approver>, Arc<Mutex<u32>>) {
    let asked = Arc::new(Mutex::new(0));
    (Arc::new(By { answer, asked: asked.clone() }), asked)
}

fn request() -> Arc<ApprovalRequest> {
    let text = r#"{"id": "r", "turn": "t", "subject": {"kind": "connect", "host": "h", "port": 1}, "binding": [],
        "justification": null, "rerun": {"kind": "not-started"}, "choices": []}"#;
    Arc::new(serde_json::from_str(text).unwrap())
}

fn run(approvers: Vec<Arc<dyn Approver>>) -> Result<Answer, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(ask(approvers, request()))
}

fn unavailable(result: Result<Answer, Failure>) -> String {
    match result {
        Err(Failure::Unavailable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_that_answers_wins_and_the_rest_are_not_asked() {
    let (none, _) = by(|| None);
    let (yes, _) = by(|| Some(Answer::AllowOnce));
    let (no, asked) = by(|| Some(Answer::Cancel));
    assert_eq!(run(vec![none, yes, no]), Ok(Answer::AllowOnce));
    assert_eq!(*asked.lock().unwrap(), 0);
}

#[test]
fn nobody_and_nobody_who_answers_are_told_apart() {
    let (none, _) = by(|| None);
    assert_eq!(unavailable(run(vec![])), "");
    assert_eq!(unavailable(run(vec![none])), "no approver answered");
}

#[test]
fn one_that_panics_ends_the_chain() {
    let (crashing, _) = by(|| panic!("lost the terminal"));
    let (yes, asked) = by(|| Some(Answer::AllowOnce));
    assert_eq!(unavailable(run(vec![crashing, yes])), "the approver crashed: lost the terminal");
    assert_eq!(*asked.lock().unwrap(), 0);
}

#[test]
fn one_that_blocks_its_thread_does_not_stop_the_clock() {
    let (blocking, _) = by(|| {
        std::thread::sleep(Duration::from_millis(400));
        Some(Answer::AllowOnce)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let begun = std::time::Instant::now();
    let asked = runtime.block_on(async {
        tokio::time::timeout(Duration::from_millis(20), ask(vec![blocking], request())).await
    });
    assert!(asked.is_err() && begun.elapsed() < Duration::from_millis(300));
}

#[test]
fn the_future_of_one_that_hangs_is_dropped() {
    let dropped = Arc::new(Mutex::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let hanging = ask(vec![Arc::new(Hanging(dropped.clone()))], request());
        assert!(tokio::time::timeout(Duration::from_millis(20), hanging).await.is_err());
        while *dropped.lock().unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}
