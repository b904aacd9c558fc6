//! What a page asks of crawlers about itself: `X-Robots-Tag` and `<meta name=robots>`.
//!
//! Both speak the same small language, a comma list of directives, and both can be aimed at one
//! crawler. Whatever is aimed at everybody or at us counts, and the most restrictive wins: wishes
//! only ever add up.
//!
//! Cost: linear in the header values. Unknown directives are ignored.

/// The wishes that concern us, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageWishes {
    /// Do not show the page in an index.
    pub noindex: bool,
    /// Do not follow the page's links.
    pub nofollow: bool,
    /// Do not show a stored copy.
    pub noarchive: bool,
    /// The date after which the page should not be shown, as written.
    pub unavailable_after: Option<String>,
}

/// Directives that carry a value after a colon, so the word before it is not an agent.
const VALUED: [&str; 4] = [
    "unavailable_after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
];

impl PageWishes {
    /// Adds one `X-Robots-Tag` header value, for the crawler with product token `agent`.
    /// An `agent:` prefix holds until the next prefix or the end of the value.
    pub fn add_header(&mut self, value: &str, agent: &str) {
        let mut ours = true;
        for item in value.split(',') {
            let mut item = item.trim();
            if let Some((name, rest)) = item.split_once(':') {
                let name = name.trim();
                if is_token(name) && !VALUED.iter().any(|v| v.eq_ignore_ascii_case(name)) {
                    ours = name.eq_ignore_ascii_case(agent) || name == "*";
                    item = rest.trim();
                }
            }
            if ours {
                self.add_directive(item);
            }
        }
    }

    /// Adds a `<meta>` element: `name` is `robots` for everybody or a crawler's name.
    pub fn add_meta(&mut self, name: &str, content: &str, agent: &str) {
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent) {
            content
                .split(',')
                .for_each(|item| self.add_directive(item.trim()));
        }
    }

    /// Both together: most restrictive wins, the date named first stays.
    pub fn merge(&mut self, other: &PageWishes) {
        self.noindex |= other.noindex;
        self.nofollow |= other.nofollow;
        self.noarchive |= other.noarchive;
        if self.unavailable_after.is_none() {
            self.unavailable_after.clone_from(&other.unavailable_after);
        }
    }

    fn add_directive(&mut self, item: &str) {
        let (name, value) = item.split_once(':').unwrap_or((item, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "noindex" => self.noindex = true,
            "nofollow" => self.nofollow = true,
            "none" => (self.noindex, self.nofollow) = (true, true),
            "noarchive" | "nocache" => self.noarchive = true,
            "unavailable_after" if self.unavailable_after.is_none() => {
                let date: String = value
                    .trim()
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(64)
                    .collect();
                self.unavailable_after = Some(date);
            }
            _ => {}
        }
    }
}

fn is_token(name: &str) -> bool {
    name == "*"
        || !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'_')
}
