//! Approvals as a harness uses them: on a real disk, with real files to run, and approvers that behave and misbehave.

#![cfg(test)]

mod approver;
mod disk;
mod drift;
mod order;
mod refusals;
mod scene;
mod storm;
