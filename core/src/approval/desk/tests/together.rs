//! Two processes, or two threads, that share one log: each takes in what the other wrote, and then its own step.

use proptest::prelude::*;

use super::model::{Act, NAMES, act, check, step};
use super::*;

struct Process {
    desk: Desk,
    read: usize,
}

impl Process {
    fn new() -> Self {
        Self { desk: Desk::new(session(), ASKS), read: 0 }
    }

    fn catch_up(&mut self, log: &Lines) {
        log.events[self.read..].iter().for_each(|(event, at)| self.desk.apply(event, *at));
        self.read = log.events.len();
    }

    fn step(&mut self, log: &mut Lines, now: &mut Duration, act: &Act) {
        self.catch_up(log);
        step(&mut self.desk, log, now, act);
        self.read = log.events.len();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn two_processes_with_one_log_are_one_session(acts in prop::collection::vec((any::<bool>(), act()), 1..60)) {
        let (mut log, mut now) = (Lines::default(), second(1));
        let mut processes = [Process::new(), Process::new()];
        for (which, act) in &acts {
            processes[usize::from(*which)].step(&mut log, &mut now, act);
        }
        processes.iter_mut().for_each(|process| process.catch_up(&log));
        prop_assert_eq!(&processes[0].desk.state, &processes[1].desk.state);
        check(&log.events, ASKS.1);
    }

    #[test]
    fn of_two_that_use_one_answer_one_gets_it(order in prop::collection::vec(any::<bool>(), 2..6)) {
        let mut one = Session::new(ASKS);
        one.ask(NAMES[0], &["rm", "d"]);
        one.answer(NAMES[0], Answer::AllowOnce);
        let mut processes = [Process::new(), Process::new()];
        let measured = Binding::execution(&execution(&["rm", "d"]));
        let mut started = 0;
        for which in order {
            let process = &mut processes[usize::from(which)];
            process.catch_up(&one.log);
            started += usize::from(process.desk.consume(&id(NAMES[0]), &measured, one.now, &mut one.log).is_ok());
            process.read = one.log.events.len();
        }
        prop_assert_eq!(started, 1);
    }
}

#[test]
fn the_same_question_in_two_processes_is_put_in_each() {
    let mut one = Session::new(ASKS);
    one.ask("a", &["rm", "d"]);
    let mut other = Process::new();
    other.catch_up(&one.log);
    let same = ask("b", "t", &execution(&["rm", "d"]));
    let step = other.desk.ask(same, &Memory::default(), one.now, &mut one.log).unwrap();
    assert!(matches!(step, Step::Prompt(_)), "nobody would tell the one that waits: {step:?}");
}
