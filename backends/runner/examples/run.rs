//! Confines a command to the current directory, shows what it writes, and says how it ended.
//!
//! `cargo run --example run -- sh -c 'echo hi > in.txt; echo x > /var/tmp/out.txt'`

use confine_core::AbsPath;
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use confine_runner::{Confine, Event, view::HostView};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = AbsPath::new(std::env::current_dir()?)?;
    let policy = resolve(&workspace_write(&here), &HostView::here())?;
    let stage = std::env::current_exe()?.with_file_name("../confine-stage");
    let confine = Confine::builder().stage(stage).detect()?;

    let mut run = confine.command(std::env::args_os().skip(1)).cwd(here).policy(&policy).spawn().await?;
    let mut events = run.events();
    while let Some(event) = events.next().await {
        match event {
            Event::Stdout(bytes) | Event::Stderr(bytes) => print!("{}", String::from_utf8_lossy(&bytes)),
            other => println!("{other:?}"),
        }
    }
    let report = run.wait().await;
    println!("{:?} on {:?} in {} ms", report.verdict, report.backend, report.usage.wall_ms);
    Ok(())
}

fn workspace_write(here: &AbsPath) -> Request {
    let file = PolicyFile::builtin("workspace-write").unwrap_or_default();
    Request {
        layers: vec![Written { file, base: here.clone(), source: Source::BuiltIn }],
        workspaces: vec![here.clone()],
        workspaces_named: true,
        cwd: here.clone(),
        own_directories: Vec::new(),
        own_files: Vec::new(),
    }
}
