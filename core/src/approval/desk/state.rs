//! What a session is, folded from its events.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Ignored;
use crate::approval::{
    ApprovalOutcome, ApprovalRequest, ApprovalRequestId, Binding, By, Choice, Digest, Permissions, TurnId,
};
use crate::audit::Event;

/// The state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    boot: Option<String>,
    pub(super) revoked: bool,
    pub(super) permissions: Permissions,
    /// The open ones.
    pub(super) turns: BTreeMap<TurnId, Turn>,
    /// In the order of asking.
    pub(super) waiting: Vec<Waiting>,
    pub(super) allowed: BTreeMap<ApprovalRequestId, Allowed>,
    /// Of open turns.
    settled: BTreeMap<ApprovalRequestId, (TurnId, Ignored)>,
    /// What a person refused, with the reason.
    pub(super) refused: BTreeMap<Digest, String>,
    /// What a person's yes for the session covers.
    approved: BTreeSet<Digest>,
}

/// An open turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// In a row.
    pub(super) refusals: u32,
}

/// A question without an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Waiting {
    pub(super) request: Box<ApprovalRequest>,
    pub(super) deadline: Duration,
    limit: Duration,
    /// The same question, whose answer this one waits for.
    pub(super) joins: Option<ApprovalRequestId>,
}

/// An answer that was not used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Allowed {
    pub(super) binding: Binding,
    turn: TurnId,
}

impl State {
    /// Takes an event in. Answers the question that waited for another, which is gone now.
    pub(super) fn apply(&mut self, event: &Event, at: Duration) -> Option<ApprovalRequestId> {
        match event {
            Event::SessionOpened { boot, .. } => self.open(boot),
            Event::SessionRevoked {} => {
                self.revoked = true;
                self.allowed.clear();
                self.approved.clear();
            }
            Event::TurnOpened { turn } => {
                self.turns.entry(turn.clone()).or_default();
            }
            Event::TurnClosed { turn } => self.close(turn),
            Event::PresetChosen { preset, mode, approval } => {
                let (preset, mode, approval) = (Some(preset.clone()), Some(*mode), Some(*approval));
                self.permissions = Permissions { preset, mode, approval };
            }
            Event::ModeSet { mode } => self.permissions.mode = Some(*mode),
            Event::ApprovalSet { approval } => self.permissions.approval = Some(*approval),
            Event::Asked { request, limit_ms, joins } => {
                let limit = Duration::from_millis(*limit_ms);
                let (request, deadline) = (request.clone(), at.saturating_add(limit));
                self.waiting.push(Waiting { request, deadline, limit, joins: joins.clone() });
            }
            Event::Decided { id, outcome, by } => return self.decide(id, outcome, *by, at),
            Event::Used { id, .. } => self.spend(id, Ignored::Used),
            Event::Ignored { id, why: why @ Ignored::Drift { .. } } => self.spend(id, why.clone()),
            Event::Ignored { .. } => {}
        }
        None
    }

    /// Another boot: whoever waited is gone, and the clock began anew.
    fn open(&mut self, boot: &str) {
        if self.boot.replace(boot.to_owned()).is_some_and(|before| before != boot) {
            self.turns.clear();
            self.waiting.clear();
            self.allowed.clear();
            self.settled.clear();
        }
    }

    fn close(&mut self, turn: &TurnId) {
        self.turns.remove(turn);
        self.waiting.retain(|one| one.request.turn != *turn);
        self.allowed.retain(|_, one| one.turn != *turn);
        self.settled.retain(|_, (of, _)| of != turn);
    }

    fn decide(
        &mut self,
        id: &ApprovalRequestId,
        outcome: &ApprovalOutcome,
        by: By,
        at: Duration,
    ) -> Option<ApprovalRequestId> {
        let waiting = self.waiting.iter().find(|one| one.request.id == *id)?.clone();
        let promoted = self.drop_waiting(id, at);
        let turn = waiting.request.turn.clone();
        if waiting.joins.is_none() {
            self.count(&turn, outcome, by);
        }
        if by == By::Approver {
            self.remember(&waiting.request, outcome);
        }
        let how = if outcome.is_allowed() { Ignored::Decided } else { Ignored::NotAllowed };
        if outcome.is_allowed() {
            let allowed = Allowed { binding: waiting.request.binding, turn: turn.clone() };
            self.allowed.insert(id.clone(), allowed);
        }
        self.settled.insert(id.clone(), (turn, how));
        promoted
    }

    /// Only what a person was asked counts.
    fn count(&mut self, turn: &TurnId, outcome: &ApprovalOutcome, by: By) {
        let Some(turn) = self.turns.get_mut(turn) else { return };
        match (by, outcome) {
            (By::Approver, outcome) if outcome.is_allowed() => turn.refusals = 0,
            (By::Approver, _) | (_, ApprovalOutcome::TimedOut) => {
                turn.refusals = turn.refusals.saturating_add(1)
            }
            _ => {}
        }
    }

    fn remember(&mut self, request: &ApprovalRequest, outcome: &ApprovalOutcome) {
        match outcome {
            ApprovalOutcome::Rejected { .. } => {
                self.refused.insert(request.binding.key(), outcome.reason().to_owned());
            }
            ApprovalOutcome::AllowedForSession => {
                let covers = request.choices.iter().find_map(session);
                self.approved.extend(covers.map(|cover| request.binding.covered(cover)));
            }
            _ => {}
        }
    }

    fn spend(&mut self, id: &ApprovalRequestId, how: Ignored) {
        if let Some(allowed) = self.allowed.remove(id) {
            self.settled.insert(id.clone(), (allowed.turn, how));
        }
    }

    /// Removes a question. The first of those that waited for its answer takes its place, with a time of its own.
    pub(super) fn drop_waiting(&mut self, id: &ApprovalRequestId, at: Duration) -> Option<ApprovalRequestId> {
        let place = self.waiting.iter().position(|one| one.request.id == *id)?;
        self.waiting.remove(place);
        let mut after = self.waiting.iter_mut().filter(|one| one.joins.as_ref() == Some(id));
        let first = after.next()?;
        first.joins = None;
        first.deadline = at.saturating_add(first.limit);
        let promoted = first.request.id.clone();
        after.for_each(|one| one.joins = Some(promoted.clone()));
        Some(promoted)
    }

    pub(super) fn is_waiting(&self, id: &ApprovalRequestId) -> bool {
        self.waiting.iter().any(|one| one.request.id == *id)
    }

    /// The question of that id, if it is put to the approvers.
    pub(super) fn prompted(&self, id: &ApprovalRequestId) -> Option<&Waiting> {
        self.waiting.iter().find(|one| one.request.id == *id && one.joins.is_none())
    }

    /// A question that asks the same, by one of `own`.
    pub(super) fn same(
        &self,
        request: &ApprovalRequest,
        own: &BTreeSet<ApprovalRequestId>,
    ) -> Option<ApprovalRequestId> {
        let is_put = |one: &&Waiting| one.joins.is_none() && one.request.is_same(request);
        let mut same = self.waiting.iter().filter(is_put).map(|one| &one.request.id);
        same.find(|id| own.contains(*id)).cloned()
    }

    /// Those that wait for the answer to `id`, and then that one itself: it counts, they do not.
    pub(super) fn group(&self, id: &ApprovalRequestId) -> Vec<ApprovalRequestId> {
        let joined = self.waiting.iter().filter(|one| one.joins.as_ref() == Some(id));
        joined.map(|one| one.request.id.clone()).chain([id.clone()]).collect()
    }

    pub(super) fn knows(&self, id: &ApprovalRequestId) -> bool {
        self.is_waiting(id) || self.settled.contains_key(id)
    }

    pub(super) fn approves(&self, request: &ApprovalRequest) -> bool {
        let cover = request.choices.iter().find_map(session);
        cover.is_some_and(|cover| self.approved.contains(&request.binding.covered(cover)))
    }

    /// Why what comes about `id`, and finds nothing to settle or to use, comes to nothing.
    pub(super) fn ignored(&self, id: &ApprovalRequestId) -> Ignored {
        match self.waiting.iter().find(|one| one.request.id == *id) {
            Some(one) if one.joins.is_some() => Ignored::NotAsked,
            Some(_) => Ignored::Undecided,
            None => self.settled.get(id).map_or(Ignored::Unknown, |(_, how)| how.clone()),
        }
    }
}

const fn session(choice: &Choice) -> Option<&super::super::Cover> {
    match choice {
        Choice::AllowForSession { covers } => Some(covers),
        _ => None,
    }
}
