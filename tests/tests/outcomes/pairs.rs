//! Pairs of a tool and a cause, run for real: what the report says, and that the act works with a grant and outside.

use std::fs;

use confine_tests::{Backend, Finished, Scene, User, each, needs};

/// What a report is to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// The act is refused, and this is the effect; empty for any.
    Denied(&'static str),
    /// The program failed by itself.
    Failed,
    /// It works.
    Passed,
}

use Want::{Denied, Failed, Passed};

/// One act: the tool, the cause and the script, in which OUT is a directory without a grant.
pub(super) struct Pair {
    pub(super) tool: &'static str,
    pub(super) cause: &'static str,
    pub(super) script: &'static str,
    bwrap: Want,
    landlock: Want,
}

const fn pair(
    tool: &'static str,
    cause: &'static str,
    script: &'static str,
    bwrap: Want,
    landlock: Want,
) -> Pair {
    Pair { tool, cause, script, bwrap, landlock }
}

pub(super) const fn write(tool: &'static str, cause: &'static str, script: &'static str) -> Pair {
    pair(tool, cause, script, Denied("fs-write"), Denied("fs-write"))
}

/// Outside every grant; with `--write OUT` each works.
pub(super) const WRITES: &[Pair] = &[
    write("sh", "create", "echo x > OUT/new"),
    write("sh", "append", "echo x >> OUT/f.txt"),
    write("bash", "create", "bash -c 'echo x > OUT/new'"),
    write("bash", "append", "bash -c 'echo x >> OUT/f.txt'"),
    write("touch", "create", "touch OUT/new"),
    write("cp", "create", "cp a.txt OUT/c.txt"),
    write("cp", "overwrite", "cp a.txt OUT/f.txt"),
    pair("mv", "move in", "mv a.txt OUT/m.txt", Denied(""), Denied("")),
    pair("mv", "rename", "mv OUT/f.txt OUT/g.txt", Denied("fs-rename"), Denied("fs-rename")),
    pair("ln", "link", "ln OUT/f.txt OUT/l", Denied("fs-rename"), Denied("fs-rename")),
    write("ln", "symbolic link", "ln -s f.txt OUT/s"),
    write("mkdir", "make", "mkdir OUT/nd"),
    write("mkdir", "make with parents", "mkdir -p OUT/nd/x"),
    write("rm", "remove", "rm OUT/f.txt"),
    write("rm", "remove by force", "rm -f OUT/f.txt"),
    write("rmdir", "remove", "rmdir OUT/empty"),
    write("tee", "append", "echo x | tee -a OUT/f.txt >/dev/null"),
    write("dd", "write", "dd if=/dev/zero of=OUT/f.txt count=1 status=none"),
    write("sed", "in place", "sed -i s/h/j/ OUT/f.txt"),
    write("install", "create", "install -m 644 a.txt OUT/i.txt"),
    pair("chmod", "change the mode", "chmod 600 OUT/f.txt", Denied("fs-metadata"), Passed),
    pair("chgrp", "change the group", "chgrp $(id -g) OUT/f.txt", Denied("fs-metadata"), Passed),
    write("mkfifo", "create", "mkfifo OUT/ff"),
    write("mktemp", "create", "mktemp -p OUT"),
    pair("truncate", "truncate", "truncate -s 0 OUT/f.txt", Denied(""), Denied("")),
    write("awk", "create", "awk 'BEGIN{print \"x\" > \"OUT/new\"}'"),
    write("tar", "extract", "tar cf - a.txt | tar xf - -C OUT"),
    write("make", "create", "cd OUT && printf 'all:\\n\\ttouch new.txt\\n' | make -f -"),
    write("python3", "create", "/usr/bin/python3 -c \"open('OUT/new','w')\""),
    write("python3", "append", "/usr/bin/python3 -c \"open('OUT/f.txt','a')\""),
    write("python3", "make a directory", "/usr/bin/python3 -c \"import os;os.mkdir('OUT/nd')\""),
    write("python3", "remove", "/usr/bin/python3 -c \"import os;os.unlink('OUT/f.txt')\""),
    pair(
        "python3",
        "truncate",
        "/usr/bin/python3 -c \"import os;os.truncate('OUT/f.txt',0)\"",
        Denied(""),
        Denied(""),
    ),
    write("node", "create", "node -e \"require('fs').writeFileSync('OUT/new','x')\""),
    write("node", "make a directory", "node -e \"require('fs').mkdirSync('OUT/nd')\""),
    write("node", "remove", "node -e \"require('fs').unlinkSync('OUT/f.txt')\""),
    write("git", "init", "git init -q OUT/repo"),
    write("git", "clone", "git clone -q repo OUT/clone"),
    write("gcc", "link", "gcc t.c -o OUT/t"),
    write("tee", "create", "echo x | tee OUT/new >/dev/null"),
    write("split", "create", "split -l 1 a.txt OUT/x"),
    write("gzip", "create", "gzip OUT/f.txt"),
];

/// Below a place that `--hide` names.
const READS: &[Pair] = &[
    pair("cat", "hidden", "cat OUT/f.txt", Denied("fs-hide"), Passed),
    pair("head", "hidden", "head -c1 OUT/f.txt", Denied("fs-hide"), Passed),
    pair("grep", "hidden", "grep -q h OUT/f.txt", Denied("fs-hide"), Passed),
    pair("sh", "hidden", "read x < OUT/f.txt", Denied("fs-hide"), Passed),
    pair("bash", "hidden", "bash -c 'read x < OUT/f.txt'", Denied("fs-hide"), Passed),
    pair("cp", "hidden", "cp OUT/f.txt k", Denied("fs-hide"), Passed),
    pair("wc", "hidden", "wc -l OUT/f.txt", Denied("fs-hide"), Passed),
    pair("sed", "hidden", "sed -n 1p OUT/f.txt", Denied("fs-hide"), Passed),
    pair("python3", "hidden", "/usr/bin/python3 -c \"open('OUT/f.txt')\"", Denied("fs-hide"), Passed),
    pair("node", "hidden", "node -e \"require('fs').readFileSync('OUT/f.txt')\"", Denied("fs-hide"), Passed),
    pair("tail", "hidden", "tail -n 1 OUT/f.txt", Denied("fs-hide"), Passed),
];

/// Protected names in the workspace.
pub(super) const CARVED: &[Pair] = &[
    pair("sh", "protected", "echo x > .envrc", Denied("fs-carve-out"), Passed),
    pair("touch", "protected directory", "touch .vscode/new.json", Denied("fs-carve-out"), Passed),
    pair("rm", "protected", "rm .envrc", Denied("fs-carve-out"), Passed),
    pair("git", "settings", "git -C repo config user.name x", Denied("fs-carve-out"), Passed),
    pair("mv", "the parent of protected names", "mv repo/.git repo/.git2", Denied("fs-carve-out"), Passed),
];

const fn net(tool: &'static str, cause: &'static str, script: &'static str) -> Pair {
    pair(tool, cause, script, Denied("net-tcp"), Denied("net-tcp"))
}

const fn name(tool: &'static str, script: &'static str) -> Pair {
    pair(tool, "look-up", script, Denied(""), Denied(""))
}

/// Without a network. With one, the same tools fail by themselves at a port where nobody listens.
const NETWORK: &[Pair] = &[
    net("curl", "connect", "curl -sS -m 5 http://192.0.2.1/"),
    name("curl", "curl -sS -m 5 http://example.invalid/"),
    net("wget", "connect", "wget -T 5 -t 1 -O- http://192.0.2.1/"),
    name("wget", "wget -T 5 -t 1 -O- http://example.invalid/"),
    net(
        "python3",
        "connect",
        "/usr/bin/python3 -c \"import socket;socket.create_connection(('192.0.2.1',80),5)\"",
    ),
    name("python3", "/usr/bin/python3 -c \"import socket;socket.getaddrinfo('example.invalid',80)\""),
    net(
        "node",
        "connect",
        "node -e \"require('net').connect(80,'192.0.2.1').on('error',e=>{console.error(e);process.exit(1)})\"",
    ),
    name(
        "node",
        "node -e \"require('dns').lookup('example.invalid',e=>{console.error(e);process.exit(1)})\"",
    ),
    name("git", "git ls-remote http://example.invalid/x"),
    net("bash", "connect", "bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'"),
];

/// The program's own failures.
const OWN: &[Pair] = &[
    pair("false", "exit 1", "false", Failed, Failed),
    pair("sh", "exit 125", "exit 125", Failed, Failed),
    pair("cat", "missing", "cat nothing.txt", Failed, Failed),
    pair("cat", "missing outside", "cat /nothing/there", Failed, Failed),
    pair("ls", "missing", "ls nothing", Failed, Failed),
    pair("rm", "missing", "rm nothing", Failed, Failed),
    pair("grep", "no match", "grep zzz a.txt", Failed, Failed),
    pair("sh", "no such command", "nothing-of-that-name", Failed, Failed),
    pair("sh", "not executable", "./a.txt", Failed, Failed),
    pair("sh", "no directory", "echo x > nothing/x", Failed, Failed),
    pair("cat", "unreadable outside", "cat /etc/shadow", Failed, Failed),
    pair("touch", "unwritable outside", "touch /etc/x", Failed, Failed),
    pair("mkdir", "unwritable outside", "mkdir /usr/x", Failed, Failed),
    pair("chmod", "somebody else's", "chmod 600 /etc/passwd", Failed, Failed),
    pair("chgrp", "somebody else's", "chgrp $(id -g) /etc/passwd", Failed, Failed),
    pair("chgrp", "no group of theirs", "chgrp 1 a.txt", Failed, Failed),
    pair("python3", "exception", "/usr/bin/python3 -c 'raise ValueError(1)'", Failed, Failed),
    pair("python3", "no module", "/usr/bin/python3 -c 'import nothing_there'", Failed, Failed),
    pair("node", "exception", "node -e 'throw new Error(1)'", Failed, Failed),
    pair("perl", "die", "perl -e 'die \"no\"'", Failed, Failed),
    pair("gcc", "syntax", "echo 'int main(' | gcc -x c - -o bad", Failed, Failed),
    pair("make", "no rule", "make nothing", Failed, Failed),
    pair("git", "no repository", "git -C empty log", Failed, Failed),
    pair(
        "sh",
        "forged",
        "echo \"touch: cannot touch '/etc/passwd': Permission denied\" >&2; exit 1",
        Failed,
        Failed,
    ),
    pair("sh", "crash", "kill -SEGV $$", Failed, Failed),
];

/// What the scripts find: the same before each.
pub(super) fn prepare(scene: &Scene) {
    let ws = scene.workspace();
    let out = scene.outside();
    let _ = fs::remove_dir_all(&out);
    scene.directory(&out.join("empty"));
    scene.write(&out.join("f.txt"), "h\n");
    for (name, text) in
        [("a.txt", "a\n"), ("t.c", "int main(){return 0;}\n"), (".envrc", ""), (".vscode/s.json", "{}")]
    {
        scene.write(&ws.join(name), text);
    }
    scene.directory(&ws.join("empty"));
    let _ = fs::remove_dir_all(ws.join("repo"));
    scene.repository(&ws.join("repo"));
}

/// What a run was, as the table has it.
pub(super) fn found(run: &Finished) -> Want {
    let report = run.report.as_ref().unwrap_or_else(|| panic!("no report: {run}"));
    match report["verdict"].as_str() {
        Some("passed") => Passed,
        Some("failed") => Failed,
        Some("denied") => {
            let denials = report["denials"].as_array().expect("a list");
            let effects = denials.iter().filter_map(|one| one["effect"].as_str());
            Denied(effects.map(|effect| &*String::leak(effect.to_owned())).next().unwrap_or("?"))
        }
        other => panic!("{other:?}: {run}"),
    }
}

fn fits(want: Want, found: Want) -> bool {
    match (want, found) {
        (Denied(""), Denied(_)) => true,
        (want, found) => want == found,
    }
}

/// Who else may run them.
const OTHERS: &[User] = &[User::Root, User::Nobody];

#[test]
fn other_users_get_the_same_verdicts() {
    needs!(root, bwrap, landlock = 6, git, python3, cc);
    let hide = [("--hide", false), ("", true)];
    each(OTHERS, Backend::ALL, |scene| {
        check(scene, &WRITES[..4], &[], &[("--write", false), ("", true)]);
        check(scene, &WRITES[8..10], &[], &[]);
        check(scene, &READS[..2], &hide, &[]);
        check(scene, &CARVED[..3], &[], &[]);
        check(scene, &NETWORK[..1], &[], &[]);
        check(scene, &OWN[..6], &[], &[]);
    });
}

/// Runs every pair, and then its twin: with these options more, it works; or, where they are none, nothing is tried.
fn check(scene: &Scene, pairs: &[Pair], options: &[(&str, bool)], twin: &[(&str, bool)]) {
    let out = scene.outside().display().to_string();
    let with = |options: &[(&str, bool)]| -> Vec<String> {
        options
            .iter()
            .map(|(word, is_place)| if *is_place { out.clone() } else { (*word).to_owned() })
            .collect()
    };
    let mut wrong = Vec::new();
    for pair in pairs {
        let script = pair.script.replace("OUT", &out);
        let want = match scene.backend {
            Backend::Bwrap => pair.bwrap,
            Backend::Landlock => pair.landlock,
        };
        prepare(scene);
        let run = scene.confine().options(with(options)).with_report().shell(&script);
        let told = found(&run);
        if !fits(want, told) {
            let report = run.report.as_ref().expect("a report");
            wrong.push(format!(
                "{} {}: {want:?}, found {told:?}: {run}\n{:#}\n{}",
                pair.tool, pair.cause, report["denials"], report["not_the_sandbox"]
            ));
        }
    }
    if !twin.is_empty() {
        wrong.extend(twins(scene, pairs, &with(twin)));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), pairs.len(), wrong.join("\n"));
}

/// The same acts with a grant, one after another in one sandbox; answers those that fail.
fn twins(scene: &Scene, pairs: &[Pair], options: &[String]) -> Vec<String> {
    let out = scene.outside().display().to_string();
    prepare(scene);
    let mut all = String::new();
    for (number, pair) in pairs.iter().enumerate() {
        let script = format!("{}\n", pair.script.replace("OUT", &out));
        let file = scene.write(&scene.workspace().join(format!("twin-{number}.sh")), &script);
        let reset = "rm -rf \"$OUT\"/* && mkdir \"$OUT/empty\" && echo h > \"$OUT/f.txt\" && echo a > a.txt";
        let is_reset = pair.script.contains("OUT") && pair.cause != "hidden";
        let reset = if is_reset { reset } else { "true" };
        all.push_str(&format!(
            "{{ {reset}; }} 2>&1; sh {} || echo 'failed {} {}'\n",
            file.display(),
            pair.tool,
            pair.cause
        ));
    }
    let run = scene.confine().options(options).option("--env", format!("OUT={out}")).shell(&all);
    let failed = run.stdout.lines().filter(|line| line.starts_with("failed "));
    failed.map(|line| format!("twin: {line}: {run}")).collect()
}

#[test]
fn at_least_sixty_pairs_of_tool_and_cause_are_there() {
    let all = [WRITES, READS, CARVED, NETWORK, OWN].concat_len();
    assert!(all >= 60, "{all}");
}

trait Length {
    fn concat_len(&self) -> usize;
}

impl Length for [&[Pair]; 5] {
    fn concat_len(&self) -> usize {
        self.iter().map(|pairs| pairs.len()).sum()
    }
}

#[test]
fn writing_without_a_grant_is_a_denial_and_with_one_it_works() {
    needs!(root, bwrap, landlock = 6, git, python3, cc);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        check(scene, WRITES, &[], &[("--write", false), ("", true)])
    });
}

#[test]
fn reading_what_is_hidden_is_a_denial_and_otherwise_it_works() {
    needs!(root, bwrap, landlock = 6, python3);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        check(scene, READS, &[("--hide", false), ("", true)], &[("--read", false), ("", true)]);
    });
}

#[test]
fn changing_what_is_protected_is_a_denial_and_otherwise_it_works() {
    needs!(root, bwrap, landlock = 6, git);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        let words = ["--write", ".envrc", "--write", ".vscode", "--git", "open"];
        check(scene, CARVED, &[], &words.map(|word| (word, false)));
    });
}

#[test]
fn reaching_the_network_is_a_denial_and_with_a_network_it_is_the_program_s_own_failure() {
    needs!(root, bwrap, landlock = 6, git, python3);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        check(scene, NETWORK, &[], &[]);
        for pair in NETWORK.iter().filter(|pair| pair.cause == "connect" && pair.tool != "ssh") {
            let script =
                pair.script.replace("192.0.2.1/80", "127.0.0.1/1").replace("192.0.2.1',80", "127.0.0.1',1");
            let script = script
                .replace("http://192.0.2.1/", "http://127.0.0.1:1/")
                .replace("80,'192.0.2.1'", "1,'127.0.0.1'");
            let run = scene.confine().option("--network", "open").with_report().shell(&script);
            assert_eq!(found(&run), Failed, "{} {run}", pair.tool);
        }
    });
}

#[test]
fn a_program_s_own_failure_is_no_denial() {
    needs!(root, bwrap, landlock = 6, git, python3, cc);
    each(&[User::Ordinary], Backend::ALL, |scene| check(scene, OWN, &[], &[]));
}
