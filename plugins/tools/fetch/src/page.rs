//! A page of HTML as the text that a reader sees. No parser: what is not well-formed may come out oddly, and never fails.

/// Elements whose content is for machines.
const UNSEEN: &[&str] = &["script", "style", "noscript", "template", "svg", "head"];
/// Elements that begin a line.
const LINES: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "td",
    "th",
    "tr",
    "ul",
];
/// The references that pages are full of; others stay as they are.
const NAMED: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("mdash", "—"),
    ("ndash", "–"),
    ("hellip", "…"),
    ("copy", "©"),
    ("rarr", "→"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
];
/// The longest reference that is looked for, in bytes.
const LONGEST: usize = 10;

/// The text, without blank lines and without spaces at the ends of lines.
pub(crate) fn text(html: &str) -> String {
    let mut rest = html;
    let mut raw = String::new();
    while let Some((before, tag)) = rest.split_once('<') {
        raw.push_str(&seen(before));
        rest = after(tag, &mut raw);
    }
    raw.push_str(&seen(rest));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = raw.lines().map(words).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// What follows a tag, a comment, or an element that nobody sees.
fn after<'a>(tag: &'a str, raw: &mut String) -> &'a str {
    if let Some(comment) = tag.strip_prefix("!--") {
        return comment.split_once("-->").map_or("", |(_, rest)| rest);
    }
    let is_tag =
        tag.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '/' | '!' | '?'));
    if !is_tag {
        raw.push('<');
        return tag;
    }
    let (inside, rest) = tag.split_once('>').unwrap_or((tag, ""));
    let name = inside.trim_start_matches('/').split(|letter: char| !letter.is_ascii_alphanumeric()).next();
    let name = name.unwrap_or_default().to_ascii_lowercase();
    if LINES.contains(&name.as_str()) {
        raw.push('\n');
    }
    let opens = !inside.starts_with('/') && !inside.ends_with('/');
    if opens && UNSEEN.contains(&name.as_str()) { beyond(rest, &name) } else { rest }
}

/// What follows the end of the element.
fn beyond<'a>(content: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    let mut rest = content;
    while let Some(at) = rest.find("</") {
        let Some(tail) = rest.get(at..) else { return "" };
        if tail.get(..end.len()).is_some_and(|found| found.eq_ignore_ascii_case(&end)) {
            return tail.split_once('>').map_or("", |(_, rest)| rest);
        }
        rest = tail.get(2..).unwrap_or_default();
    }
    ""
}

/// Text between two tags: an end of a line in it is a space.
fn seen(text: &str) -> String {
    decoded(&text.replace(['\n', '\r'], " "))
}

fn decoded(text: &str) -> String {
    let mut rest = text;
    let mut out = String::with_capacity(text.len());
    while let Some((before, reference)) = rest.split_once('&') {
        out.push_str(before);
        rest = match reference.split_once(';').filter(|(name, _)| name.len() <= LONGEST) {
            Some((name, after)) if push(name, &mut out) => after,
            _ => {
                out.push('&');
                reference
            }
        };
    }
    out.push_str(rest);
    out
}

fn push(name: &str, out: &mut String) -> bool {
    if let Some((_, text)) = NAMED.iter().find(|(known, _)| *known == name) {
        out.push_str(text);
        return true;
    }
    let Some(number) = name.strip_prefix('#') else { return false };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(number) => u32::from_str_radix(number, 16),
        None => number.parse(),
    };
    let letter = number.ok().and_then(char::from_u32);
    out.extend(letter);
    letter.is_some()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_page_is_the_text_that_a_reader_sees() {
        for (html, expected) in [
            (
                "<html><head><title>x</title></head><body><h1>One</h1><p>Two <b>and</b>\n three</p></body>",
                "One\nTwo and three",
            ),
            ("a<script>if (a < b) { x('</p>') }</script>b<STYLE>p{}</Style>c", "abc"),
            ("1 < 2 &amp;&amp; 3 &gt; 2 &#8212; &#x41; &unknown; &", "1 < 2 && 3 > 2 — A &unknown; &"),
            ("a<!-- <p>no</p> -->b<br/>c", "ab\nc"),
            ("<ul><li>one<li>two</ul>", "one\ntwo"),
            ("<p class=\"a\">cut <scri", "cut"),
            ("<script>never ended", ""),
            ("&#99999999; &#xd800;", "&#99999999; &#xd800;"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn no_page_fails() {
        let odd = ["<", "</", "<!--", "<a", "&", "&#", "&#x", "<ſcript>", "<script></ſcript>", "é<é>é&é;é"];
        for one in odd {
            for other in odd {
                text(&format!("{one}{other}"));
            }
        }
    }
}
