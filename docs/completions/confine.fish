# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_confine_global_optspecs
    string join \n probe V/version json require= h/help
end

function __fish_confine_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_confine_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_confine_using_subcommand
    set -l cmd (__fish_confine_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c confine -n "__fish_confine_needs_command" -l require -d 'Exit 125 unless one usable backend enforces these effects' -r
complete -c confine -n "__fish_confine_needs_command" -l probe -d 'Say what works on this host, from attempts (also `confine probe`)'
complete -c confine -n "__fish_confine_needs_command" -s V -l version -d 'Print the version; with --json, that of every format'
complete -c confine -n "__fish_confine_needs_command" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_needs_command" -f -a "run" -d 'Confine a command, run it, and exit as it did'
complete -c confine -n "__fish_confine_needs_command" -f -a "plan" -d 'Print the wrapped argv that any program can spawn, and what each layer enforces'
complete -c confine -n "__fish_confine_needs_command" -f -a "explain" -d 'Say whether something is allowed, by which rule and layer, and what would change it; exit 1 where it is not'
complete -c confine -n "__fish_confine_needs_command" -f -a "classify" -d 'Judge how a command ended that was spawned without confine, from a plan'
complete -c confine -n "__fish_confine_needs_command" -f -a "probe" -d 'Say what works on this host, from attempts'
complete -c confine -n "__fish_confine_needs_command" -f -a "serve" -d 'Runs, their output and approvals for programs in other languages, as lines of JSON'
complete -c confine -n "__fish_confine_needs_command" -f -a "hook" -d 'Wrap the command of a coding agent before it runs it: reads its event, answers with the wrapped command'
complete -c confine -n "__fish_confine_needs_command" -f -a "policy" -d 'Look at policies'
complete -c confine -n "__fish_confine_needs_command" -f -a "backend" -d 'Pin third-party backends: programs that `--backend NAME` may run'
complete -c confine -n "__fish_confine_needs_command" -f -a "dialect" -d 'Look at how refusals are worded, or measure them again'
complete -c confine -n "__fish_confine_needs_command" -f -a "quarantine" -d 'List or put back what the checks for protected names moved away'
complete -c confine -n "__fish_confine_needs_command" -f -a "audit" -d 'Look at what was asked and answered in sessions'
complete -c confine -n "__fish_confine_needs_command" -f -a "preset" -d 'Look at presets, or choose one for a session'
complete -c confine -n "__fish_confine_needs_command" -f -a "completions" -d 'Print the completions of a shell'
complete -c confine -n "__fish_confine_needs_command" -f -a "man" -d 'Print the man page'
complete -c confine -n "__fish_confine_using_subcommand run" -l policy -d '`read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l workspace -d 'A workspace root; repeatable. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l cwd -d 'Where the program starts. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l read -d 'May be read and executed; repeatable, as all of these' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l write -d 'May be read, created, changed and deleted' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l precreate -d 'A file that may be created: confine makes it empty, and removes it afterwards if it still is' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l hide -d 'Is not there' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l protect -d 'Stays as it is inside a write grant' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l socket -d 'A pathname socket that may be reached' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l device -d 'A device node that may be opened' -r -F
complete -c confine -n "__fish_confine_using_subcommand run" -l git -d 'What of `.git` may be written' -r -f -a "work\t'Committing works; hooks, settings and attributes are protected'
protect\t'`.git` is read-only'
open\t'Nothing special'"
complete -c confine -n "__fish_confine_using_subcommand run" -l network -d 'Which network there is' -r -f -a "off\t'None'
open\t'The host\'s'"
complete -c confine -n "__fish_confine_using_subcommand run" -l accept-missing -d 'Effects to go without where no backend enforces them; listed in every report' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l env -d 'A variable that passes, or is set; repeatable' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l timeout -d 'Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l memory -d 'Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l processes -d 'Processes and threads' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l backend -d '`auto`, or the name of a backend' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l max-output -d 'What is kept of each captured stream, half from its head and half from its tail' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l report -d 'Write the report to a file outside every write grant, or to an open descriptor' -r
complete -c confine -n "__fish_confine_using_subcommand run" -l ask -d 'After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that'
complete -c confine -n "__fish_confine_using_subcommand run" -l tty -d 'Give the program a pseudo-terminal of its own'
complete -c confine -n "__fish_confine_using_subcommand run" -l annotate -d 'Say in one bracketed line on stderr how it went: what was denied, in which mode, and the smallest grant that would help; or that nothing was'
complete -c confine -n "__fish_confine_using_subcommand run" -l strict -d 'Exit 77 where a violation was seen and the program exited 0'
complete -c confine -n "__fish_confine_using_subcommand run" -l json -d 'Capture the output instead of passing it through, and print the report with the output in it'
complete -c confine -n "__fish_confine_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand plan" -l policy -d '`read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l workspace -d 'A workspace root; repeatable. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l cwd -d 'Where the program starts. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l read -d 'May be read and executed; repeatable, as all of these' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l write -d 'May be read, created, changed and deleted' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l precreate -d 'A file that may be created: confine makes it empty, and removes it afterwards if it still is' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l hide -d 'Is not there' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l protect -d 'Stays as it is inside a write grant' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l socket -d 'A pathname socket that may be reached' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l device -d 'A device node that may be opened' -r -F
complete -c confine -n "__fish_confine_using_subcommand plan" -l git -d 'What of `.git` may be written' -r -f -a "work\t'Committing works; hooks, settings and attributes are protected'
protect\t'`.git` is read-only'
open\t'Nothing special'"
complete -c confine -n "__fish_confine_using_subcommand plan" -l network -d 'Which network there is' -r -f -a "off\t'None'
open\t'The host\'s'"
complete -c confine -n "__fish_confine_using_subcommand plan" -l accept-missing -d 'Effects to go without where no backend enforces them; listed in every report' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l env -d 'A variable that passes, or is set; repeatable' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l timeout -d 'Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l memory -d 'Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l processes -d 'Processes and threads' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l backend -d '`auto`, or the name of a backend' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l max-output -d 'What is kept of each captured stream, half from its head and half from its tail' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l report -d 'Write the report to a file outside every write grant, or to an open descriptor' -r
complete -c confine -n "__fish_confine_using_subcommand plan" -l ask -d 'After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that'
complete -c confine -n "__fish_confine_using_subcommand plan" -l tty -d 'Give the program a pseudo-terminal of its own'
complete -c confine -n "__fish_confine_using_subcommand plan" -l annotate -d 'Say in one bracketed line on stderr how it went: what was denied, in which mode, and the smallest grant that would help; or that nothing was'
complete -c confine -n "__fish_confine_using_subcommand plan" -l strict -d 'Exit 77 where a violation was seen and the program exited 0'
complete -c confine -n "__fish_confine_using_subcommand plan" -l json -d 'Print the plan as JSON, for spawners in other languages'
complete -c confine -n "__fish_confine_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand explain" -l policy -d '`read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`' -r
complete -c confine -n "__fish_confine_using_subcommand explain" -l workspace -d 'A workspace root; repeatable. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l cwd -d 'Where the program starts. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l read -d 'May be read and executed; repeatable, as all of these' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l write -d 'May be read, created, changed and deleted' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l precreate -d 'A file that may be created: confine makes it empty, and removes it afterwards if it still is' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l hide -d 'Is not there' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l protect -d 'Stays as it is inside a write grant' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l socket -d 'A pathname socket that may be reached' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l device -d 'A device node that may be opened' -r -F
complete -c confine -n "__fish_confine_using_subcommand explain" -l git -d 'What of `.git` may be written' -r -f -a "work\t'Committing works; hooks, settings and attributes are protected'
protect\t'`.git` is read-only'
open\t'Nothing special'"
complete -c confine -n "__fish_confine_using_subcommand explain" -l network -d 'Which network there is' -r -f -a "off\t'None'
open\t'The host\'s'"
complete -c confine -n "__fish_confine_using_subcommand explain" -l accept-missing -d 'Effects to go without where no backend enforces them; listed in every report' -r
complete -c confine -n "__fish_confine_using_subcommand explain" -l env -d 'A variable that passes, or is set; repeatable' -r
complete -c confine -n "__fish_confine_using_subcommand explain" -l timeout -d 'Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds' -r
complete -c confine -n "__fish_confine_using_subcommand explain" -l memory -d 'Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes' -r
complete -c confine -n "__fish_confine_using_subcommand explain" -l processes -d 'Processes and threads' -r
complete -c confine -n "__fish_confine_using_subcommand explain" -l backend -d '`auto`, or the name of a backend' -r
complete -c confine -n "__fish_confine_using_subcommand explain" -l ask -d 'After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that'
complete -c confine -n "__fish_confine_using_subcommand explain" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand classify" -l policy -d '`read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l workspace -d 'A workspace root; repeatable. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l cwd -d 'Where the program starts. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l read -d 'May be read and executed; repeatable, as all of these' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l write -d 'May be read, created, changed and deleted' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l precreate -d 'A file that may be created: confine makes it empty, and removes it afterwards if it still is' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l hide -d 'Is not there' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l protect -d 'Stays as it is inside a write grant' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l socket -d 'A pathname socket that may be reached' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l device -d 'A device node that may be opened' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l git -d 'What of `.git` may be written' -r -f -a "work\t'Committing works; hooks, settings and attributes are protected'
protect\t'`.git` is read-only'
open\t'Nothing special'"
complete -c confine -n "__fish_confine_using_subcommand classify" -l network -d 'Which network there is' -r -f -a "off\t'None'
open\t'The host\'s'"
complete -c confine -n "__fish_confine_using_subcommand classify" -l accept-missing -d 'Effects to go without where no backend enforces them; listed in every report' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l env -d 'A variable that passes, or is set; repeatable' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l timeout -d 'Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l memory -d 'Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l processes -d 'Processes and threads' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l backend -d '`auto`, or the name of the backend whose plan was spawned' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l status -d 'The exit status of what was spawned' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l signal -d 'The signal that ended it' -r
complete -c confine -n "__fish_confine_using_subcommand classify" -l stdout -d 'A file with its standard output' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l stderr -d 'A file with its standard error' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l status-record -d 'A file with what bwrap\'s `--json-status-fd` gave: an `exit-code` in it tells that the program ran' -r -F
complete -c confine -n "__fish_confine_using_subcommand classify" -l ask -d 'After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that'
complete -c confine -n "__fish_confine_using_subcommand classify" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand classify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand probe" -l require -d 'Exit 125 unless one usable backend enforces these effects' -r
complete -c confine -n "__fish_confine_using_subcommand probe" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand probe" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand serve" -l socket -d 'Serve this user\'s clients at a socket that is made here, until a signal' -r -F
complete -c confine -n "__fish_confine_using_subcommand serve" -l stdio -d 'Serve one client, over stdin and stdout, until it closes one of them'
complete -c confine -n "__fish_confine_using_subcommand serve" -l schema -d 'Print the JSON schema of the lines'
complete -c confine -n "__fish_confine_using_subcommand serve" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand hook" -l shell -d 'What runs a shell command inside: `bash` for claude-code, `sh` for json' -r
complete -c confine -n "__fish_confine_using_subcommand hook" -l ask -d 'Have the agent ask its user about the wrapped command, instead of allowing it'
complete -c confine -n "__fish_confine_using_subcommand hook" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand policy; and not __fish_seen_subcommand_from check show describe schema" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand policy; and not __fish_seen_subcommand_from check show describe schema" -f -a "check" -d 'Say whether a policy is well-formed and resolves here; exit 1 where not'
complete -c confine -n "__fish_confine_using_subcommand policy; and not __fish_seen_subcommand_from check show describe schema" -f -a "show" -d 'Print the resolved policy: each path with its access and its source'
complete -c confine -n "__fish_confine_using_subcommand policy; and not __fish_seen_subcommand_from check show describe schema" -f -a "describe" -d 'Print what somebody who works under the policy should know about it'
complete -c confine -n "__fish_confine_using_subcommand policy; and not __fish_seen_subcommand_from check show describe schema" -f -a "schema" -d 'Print the JSON schema of policy files'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l policy -d '`read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l workspace -d 'A workspace root; repeatable. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l cwd -d 'Where the program starts. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l read -d 'May be read and executed; repeatable, as all of these' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l write -d 'May be read, created, changed and deleted' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l precreate -d 'A file that may be created: confine makes it empty, and removes it afterwards if it still is' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l hide -d 'Is not there' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l protect -d 'Stays as it is inside a write grant' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l socket -d 'A pathname socket that may be reached' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l device -d 'A device node that may be opened' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l git -d 'What of `.git` may be written' -r -f -a "work\t'Committing works; hooks, settings and attributes are protected'
protect\t'`.git` is read-only'
open\t'Nothing special'"
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l network -d 'Which network there is' -r -f -a "off\t'None'
open\t'The host\'s'"
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l accept-missing -d 'Effects to go without where no backend enforces them; listed in every report' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l env -d 'A variable that passes, or is set; repeatable' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l timeout -d 'Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l memory -d 'Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l processes -d 'Processes and threads' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l ask -d 'After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l policy -d '`read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l workspace -d 'A workspace root; repeatable. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l cwd -d 'Where the program starts. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l read -d 'May be read and executed; repeatable, as all of these' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l write -d 'May be read, created, changed and deleted' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l precreate -d 'A file that may be created: confine makes it empty, and removes it afterwards if it still is' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l hide -d 'Is not there' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l protect -d 'Stays as it is inside a write grant' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l socket -d 'A pathname socket that may be reached' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l device -d 'A device node that may be opened' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l git -d 'What of `.git` may be written' -r -f -a "work\t'Committing works; hooks, settings and attributes are protected'
protect\t'`.git` is read-only'
open\t'Nothing special'"
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l network -d 'Which network there is' -r -f -a "off\t'None'
open\t'The host\'s'"
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l accept-missing -d 'Effects to go without where no backend enforces them; listed in every report' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l env -d 'A variable that passes, or is set; repeatable' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l timeout -d 'Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l memory -d 'Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l processes -d 'Processes and threads' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l ask -d 'After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l policy -d '`read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l workspace -d 'A workspace root; repeatable. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l cwd -d 'Where the program starts. Without it, the current directory' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l read -d 'May be read and executed; repeatable, as all of these' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l write -d 'May be read, created, changed and deleted' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l precreate -d 'A file that may be created: confine makes it empty, and removes it afterwards if it still is' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l hide -d 'Is not there' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l protect -d 'Stays as it is inside a write grant' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l socket -d 'A pathname socket that may be reached' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l device -d 'A device node that may be opened' -r -F
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l git -d 'What of `.git` may be written' -r -f -a "work\t'Committing works; hooks, settings and attributes are protected'
protect\t'`.git` is read-only'
open\t'Nothing special'"
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l network -d 'Which network there is' -r -f -a "off\t'None'
open\t'The host\'s'"
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l accept-missing -d 'Effects to go without where no backend enforces them; listed in every report' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l env -d 'A variable that passes, or is set; repeatable' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l timeout -d 'Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l memory -d 'Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l processes -d 'Processes and threads' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l backend -d 'The backend that commands run with: what it does not enforce is said as well. `auto`, or its name' -r
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l for -d 'For whom it is written' -r -f -a "model\t'A language model that works under the policy'"
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l ask -d 'After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from describe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand policy; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand backend; and not __fish_seen_subcommand_from lock list unlock schema" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand backend; and not __fish_seen_subcommand_from lock list unlock schema" -f -a "lock" -d 'Pin a program by its content, in the user\'s confine.lock. It decides what "confined" means: pin what you trust'
complete -c confine -n "__fish_confine_using_subcommand backend; and not __fish_seen_subcommand_from lock list unlock schema" -f -a "list" -d 'What is pinned, and whether it is still what was pinned'
complete -c confine -n "__fish_confine_using_subcommand backend; and not __fish_seen_subcommand_from lock list unlock schema" -f -a "unlock" -d 'Forget one'
complete -c confine -n "__fish_confine_using_subcommand backend; and not __fish_seen_subcommand_from lock list unlock schema" -f -a "schema" -d 'Print the JSON schema of what backends are asked and answer'
complete -c confine -n "__fish_confine_using_subcommand backend; and __fish_seen_subcommand_from lock" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand backend; and __fish_seen_subcommand_from lock" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand backend; and __fish_seen_subcommand_from list" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand backend; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand backend; and __fish_seen_subcommand_from unlock" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand backend; and __fish_seen_subcommand_from unlock" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand backend; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand dialect; and not __fish_seen_subcommand_from list show verify" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand dialect; and not __fish_seen_subcommand_from list show verify" -f -a "list" -d 'The dialects that there are, and where their rows come from'
complete -c confine -n "__fish_confine_using_subcommand dialect; and not __fish_seen_subcommand_from list show verify" -f -a "show" -d 'Print one: which error at which layer means what, and how tools word it'
complete -c confine -n "__fish_confine_using_subcommand dialect; and not __fish_seen_subcommand_from list show verify" -f -a "verify" -d 'Measure the rows again with the tools and the backends of this host, and print those that differ; exit 1 where one does'
complete -c confine -n "__fish_confine_using_subcommand dialect; and __fish_seen_subcommand_from list" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand dialect; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand dialect; and __fish_seen_subcommand_from show" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand dialect; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand dialect; and __fish_seen_subcommand_from verify" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand dialect; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore" -f -a "list" -d 'What was moved away, and from where'
complete -c confine -n "__fish_confine_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore" -f -a "restore" -d 'Put one back where it was. Look at it first: a program planted it'
complete -c confine -n "__fish_confine_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand audit; and not __fish_seen_subcommand_from show verify" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand audit; and not __fish_seen_subcommand_from show verify" -f -a "show" -d 'Print what happened in a session: one line for each event, oldest first'
complete -c confine -n "__fish_confine_using_subcommand audit; and not __fish_seen_subcommand_from show verify" -f -a "verify" -d 'Say whether logs are whole: nothing edited, left out, put in or cut off; exit 1 where one is not'
complete -c confine -n "__fish_confine_using_subcommand audit; and __fish_seen_subcommand_from show" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand audit; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand audit; and __fish_seen_subcommand_from verify" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c confine -n "__fish_confine_using_subcommand preset; and not __fish_seen_subcommand_from list use" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand preset; and not __fish_seen_subcommand_from list use" -f -a "list" -d 'The presets that there are, and which one the session has'
complete -c confine -n "__fish_confine_using_subcommand preset; and not __fish_seen_subcommand_from list use" -f -a "use" -d 'Choose one for a session: its mode, and whether anybody is asked. Every later call of the session follows it'
complete -c confine -n "__fish_confine_using_subcommand preset; and __fish_seen_subcommand_from list" -l session -d 'Of which session; without it, the one that `CONFINE_SESSION` names' -r
complete -c confine -n "__fish_confine_using_subcommand preset; and __fish_seen_subcommand_from list" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand preset; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand preset; and __fish_seen_subcommand_from use" -l session -d 'For which session; without it, the one that `CONFINE_SESSION` names' -r
complete -c confine -n "__fish_confine_using_subcommand preset; and __fish_seen_subcommand_from use" -l json -d 'Answer as JSON'
complete -c confine -n "__fish_confine_using_subcommand preset; and __fish_seen_subcommand_from use" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand completions" -s h -l help -d 'Print help'
complete -c confine -n "__fish_confine_using_subcommand man" -s h -l help -d 'Print help'
