//! The screen as a person sees it, in tmux.

use confine_tests::tmux::Terminal;

use super::*;

/// Paints every cell, and leaves the terminal in modes in which text does not go where it seems to.
const PAINT: &str = r"
row=1
while test $row -le 24; do
    printf '\033[%d;1H################################################################################' $row
    row=$((row + 1))
done
";

#[test]
fn no_row_of_the_question_goes_on_in_what_the_program_painted() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        // At the top, in the middle of a region, in the alternate screen with its own origin, inserting and in graphics.
        for modes in
            [r"\033[H", r"\033[3;9r\033[?6h\033[4;40H", r"\033[?1049h\033[2;5r\033[?6h\033[4h\033(0\033[H"]
        {
            let script = format!("{PAINT}printf '{modes}'\n{PAINT}printf '\\033[H'\n{}\n", writes(&target));
            scene.write(&scene.workspace().join("paint"), &script);
            let terminal = Terminal::start(scene, "--ask", "sh paint");
            terminal.shows("yes/no/cancel? (no in 5");
            let screen = terminal.tmux(&["capture-pane", "-p"]).stdout;
            let question =
                screen.find("confine: a command").unwrap_or_else(|| panic!("no question:\n{screen}"));
            assert!(!screen[question..].contains('#'), "{modes}\n{screen}");
            assert!(screen[question..].contains("sh paint"), "{modes}\n{screen}");
            terminal.press(&["Enter"]);
            terminal.ends_with("2");
        }
        assert!(!is_there(&target));
    });
}

#[test]
fn a_narrow_terminal_keeps_the_question_in_sight() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(USERS, &[Backend::Bwrap], |scene| {
        let (target, go) = (scene.outside().join("y"), scene.workspace().join("go"));
        let script = format!("until test -e go; do sleep 0.02; done\n{}\n", writes(&target));
        scene.write(&scene.workspace().join("waits"), &script);
        let terminal = Terminal::start(scene, "--ask", "sh waits");
        terminal.tmux(&["resize-window", "-x", "26", "-y", "40"]).exits(0);
        scene.write(&go, "");
        terminal.shows("(no in 5");
        terminal.press(&["y"]);
        terminal.shows(" s) y");
        let screen = terminal.screen();
        assert_eq!(screen.matches("no in").count(), 1, "{screen}");
        assert!(screen.contains("confine: a command"), "{screen}");
        terminal.press(&["C-c"]);
        terminal.ends_with("2");
        std::fs::remove_file(&go).expect("it is there");
    });
}
