//! Descriptors 0 to 2, events and terminals.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

mod harness;

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use confine_core::Verdict;
use confine_runner::{Event, Stdio};
use harness::{BACKENDS, ended, scene, stdout};

#[tokio::test(flavor = "current_thread")]
async fn the_default_is_no_input_and_captured_output() {
    for backend in BACKENDS {
        let ended = scene(backend).run(&["sh", "-c", "cat; echo done; echo oops >&2"]).await;
        assert_eq!(stdout(&ended.report), "done\n", "{backend}");
        assert_eq!(harness::stderr(&ended.report), "oops\n", "{backend}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn output_comes_as_events_while_the_program_runs() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let mut run =
            scene.shell("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two").spawn().await.unwrap();
        let mut events = run.events();
        assert!(matches!(events.next().await, Some(Event::Started { pid }) if pid > 1), "{backend}");
        assert!(matches!(events.next().await, Some(Event::Stdout(bytes)) if bytes == b"one\n"), "{backend}");
        fs::write(scene.path().join("go"), "").unwrap();
        let mut rest = Vec::new();
        while let Some(event) = events.next().await {
            rest.push(event);
        }
        assert!(
            rest.iter().any(|event| matches!(event, Event::Stdout(bytes) if bytes == b"two\n")),
            "{backend}"
        );
        assert_eq!(run.wait().await.verdict, Verdict::Passed);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_reader_that_does_not_read_blocks_the_program_and_never_the_end() {
    let scene = scene("bwrap");
    let mut run = scene.command(&["yes"]).max_output(1000).spawn().await.unwrap();
    let events = run.events();
    let canceller = run.canceller();
    let waiting = tokio::spawn(run.wait());
    tokio::time::sleep(Duration::from_millis(700)).await;
    canceller.cancel(None);
    let report = waiting.await.unwrap();
    let stream = report.output.unwrap().stdout;
    assert!(stream.bytes < 1024 * 1024, "{}", stream.bytes);
    assert!(stream.omitted > 0 && stream.text.to_string().contains("bytes omitted"));
    drop(events);
}

#[tokio::test(flavor = "current_thread")]
async fn without_a_reader_a_flood_passes_and_only_the_bound_is_kept() {
    let scene = scene("landlock");
    let run = scene.shell("yes | head -c 20000000").max_output(4096).spawn().await.unwrap();
    let stream = run.wait().await.output.unwrap().stdout;
    assert_eq!((stream.bytes, stream.omitted), (20_000_000, 20_000_000 - 4096));
}

#[tokio::test(flavor = "current_thread")]
async fn a_regular_file_is_relayed_in_order_and_out_of_the_programs_reach() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let log = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        let descriptor = |file: &File| Stdio::Fd(file.try_clone().unwrap().into());
        let script =
            "echo a; echo b >&2; echo c; stat -L -c %F /proc/self/fd/1; chmod 4777 /proc/self/fd/1 || :";
        let command = scene.shell(script).stdout(descriptor(log.as_file())).stderr(descriptor(log.as_file()));
        let before = fs::metadata(log.path()).unwrap().permissions();
        let report = command.spawn().await.unwrap().wait().await;
        let text = fs::read_to_string(log.path()).unwrap();
        assert!(text.starts_with("a\nb\nc\nfifo\n"), "{backend}: {text}");
        assert_eq!(fs::metadata(log.path()).unwrap().permissions(), before, "{backend}");
        assert_eq!(report.output, None);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn input_comes_from_a_pipe_or_a_file_opened_either_way() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"piped").unwrap();
        drop(writer);
        let path = scene.path().join("input");
        fs::write(&path, "filed").unwrap();
        let both = File::options().read(true).write(true).open(&path).unwrap();
        let reading = File::open(&path).unwrap();
        for (input, text) in [(reader.into(), "piped"), (reading.into(), "filed"), (both.into(), "filed")] {
            let ended = ended(scene.command(&["cat"]).stdin(Stdio::Fd(input)).spawn().await.unwrap()).await;
            assert_eq!(stdout(&ended.report), text, "{backend}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn whoever_shares_a_file_goes_on_where_the_program_stopped_reading() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let path = scene.path().join("input");
        fs::write(&path, "line\n".repeat(100_000)).unwrap();
        for (words, offset) in [(["true", ""], 5), (["dd", "bs=1 count=7"], 12), (["wc", "-c"], 500_000)] {
            let mut file = File::open(&path).unwrap();
            file.seek(SeekFrom::Start(5)).unwrap();
            let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
            let input = Stdio::Fd(file.try_clone().unwrap().into());
            ended(scene.command(&words).stdin(input).spawn().await.unwrap()).await;
            assert_eq!(file.stream_position().unwrap(), offset, "{backend}: {words:?}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_directory_as_input_is_a_launcher_failure() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let directory = File::open("/").unwrap();
        let ended =
            ended(scene.command(&["true"]).stdin(Stdio::Fd(directory.into())).spawn().await.unwrap()).await;
        assert_eq!(ended.report.verdict, Verdict::LauncherFailed, "{backend}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_closed_reader_ends_the_program_by_sigpipe() {
    let scene = scene("bwrap");
    let (reader, writer) = std::io::pipe().unwrap();
    let run = scene.command(&["yes"]).stdout(Stdio::Fd(writer.into())).spawn().await.unwrap();
    let mut reader = reader;
    reader.read_exact(&mut [0; 10]).unwrap();
    drop(reader);
    let ended = ended(run).await;
    assert_eq!(ended.outcome.exit_code(), 141);
}

#[tokio::test(flavor = "current_thread")]
async fn a_terminal_of_its_own_with_size_and_job_control() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let command = scene.command(&["bash", "--norc", "-i"]).stdin(Stdio::Pty { rows: 31, columns: 97 });
        let mut run = command.spawn().await.unwrap();
        let mut master = File::from(run.terminal().await.unwrap());
        assert!(run.terminal().await.is_err(), "it is given once");
        let mut output = master.try_clone().unwrap();
        let reading = std::thread::spawn(move || {
            let mut text = Vec::new();
            // EIO is a terminal's end of file.
            let _ = output.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        master.write_all(b"stty size; jobs -l; sleep 100\n").unwrap();
        tokio::time::sleep(Duration::from_millis(800)).await;
        master.write_all(b"\x03").unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        master.write_all(b"exit 5\n").unwrap();
        let ended = ended(run).await;
        drop(master);
        assert_eq!(ended.outcome.exit_code(), 5, "{backend}: {:?}", ended.report.launch_fault);
        let text = reading.join().unwrap();
        assert!(text.contains("31 97"), "{backend}: {text}");
        assert!(!text.contains("no job control"), "{backend}: {text}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_run_without_a_terminal_says_so() {
    let mut run = scene("landlock").command(&["true"]).spawn().await.unwrap();
    assert!(run.terminal().await.is_err());
}
