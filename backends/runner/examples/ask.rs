//! Runs a command confined to the current directory; where it is denied something, asks on the terminal whether it gets exactly
//! that, and runs it again.
//!
//! `cargo run --example ask -- sh -c 'echo x > /var/tmp/out.txt'`

use std::io::{BufRead as _, stdin};
use std::sync::Arc;

use confine_core::approval::{Answer, ApprovalPolicy, ApprovalRequest, Approver, Subject, async_trait};
use confine_core::escalate::{Escalation, Step};
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use confine_core::visible::visible_argv;
use confine_core::{AbsPath, Argv};
use confine_runner::approvals::{Approvals, Asked};
use confine_runner::{Confine, places::Places, view::HostView};

/// Asks on standard input.
struct Person;

#[async_trait]
impl Approver for Person {
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        let Subject::Escalation { argv, grant, directories, .. } = &request.subject else { return None };
        eprintln!("{}\nwants to {}: y or n?", visible_argv(argv), grant.words(directories).join(" and "));
        let line = stdin().lock().lines().next()?.ok()?;
        Some(if line == "y" { Answer::AllowOnce } else { Answer::Reject { reason: String::new() } })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = AbsPath::new(std::env::current_dir()?)?;
    let request = workspace_write(&here);
    let policy = resolve(&request, &HostView::here())?;
    let argv = Argv::new(std::env::args_os().skip(1), here)?;
    let stage = std::env::current_exe()?.with_file_name("../confine-stage");
    let confine = Confine::builder().stage(stage).detect()?;

    let approvals = Approvals::ephemeral(ApprovalPolicy::Ask);
    approvals.approver(Arc::new(Person));
    let turn = approvals.turn().await?;
    let widen = move |more: &Written| resolve(&request.with(more), &HostView::here());
    let mut escalation = Escalation::new(argv.clone(), policy, widen);
    let report = loop {
        let command = confine.command(argv.words()).cwd(argv.cwd().clone()).policy(escalation.policy());
        let report = command.spawn().await?.wait().await;
        let Step::Ask(proposal) = escalation.on(&report.judgement()) else { break report };
        let asked = Asked::proposal(&proposal, escalation.policy().clone());
        let decided = approvals.request(&turn, &asked).await?;
        let Some(pass) = decided.pass else { break report };
        pass.consume(&asked).await?;
        escalation.answer(decided.outcome);
    };
    println!("{:?}, {:?}", report.verdict, report.denials);
    Ok(())
}

fn workspace_write(here: &AbsPath) -> Request {
    let file = PolicyFile::builtin("workspace-write").unwrap_or_default();
    Request {
        layers: vec![Written { file, base: here.clone(), source: Source::BuiltIn }],
        workspaces: vec![here.clone()],
        workspaces_named: true,
        cwd: here.clone(),
        own_directories: Places::here().own_directories(),
        own_files: Vec::new(),
    }
}
