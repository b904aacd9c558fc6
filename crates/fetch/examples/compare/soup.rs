//! Tag soups: random markup out of the bits that change how what follows is read.
//!
//! Used by the example `compare`, a million at a time, and by the tests, some thousand.

/// Bits of markup, spelt in every way.
const BITS: &[&str] = &[
    "<a href=x>",
    "<A HREF=X>",
    "<a href='x y' rel=\"NoFollow a\">",
    "<a href=a&amp;b>",
    "<a href='?a=1&copy=2&lt;&notit;&copy'>",
    "<a href=?a&#38;b&#x26&#1114112;&#128;&#0;c>",
    "<a href=x href=y>",
    "<a =x= href = \"/q\" / b>",
    "<a href=x/>",
    "<a href=>",
    "<a href>",
    "<a href=\"x",
    "<a href='\r\n'>",
    "<a href=\"a\rb\0c\">",
    "<a\0b href=x>",
    "<a\0 href=x>",
    "<a title='>' href=t>",
    "<a x\"y='z' href=u>",
    "<a/href=v>",
    "<a\nhref\r=\tw\x0c>",
    "<a href=\"/é?ü=ö#ß\">",
    "<area href=r>",
    "<img src=i srcset='a 1x, b 2x'/>",
    "<IMG SRC=&quot;i&quot; SrcSet=\"a&amp;b 1x\">",
    "<image src=j>",
    "<input type=password>",
    "<input type=Image src=k>",
    "<link rel=canonical href=c>",
    "<link rel='alternate' type=application/rss+xml href=f>",
    "<base href=/b/>",
    "<BASE HREF=/B/>",
    "<meta name=robots content=nofollow>",
    "<meta http-equiv=refresh content='1;url=m&amp;n'>",
    "<iframe src=o>",
    "</iframe>",
    "<video src=v1 poster=v2>",
    "<object data=ob>",
    "</a>",
    "</A x=y>",
    "</a",
    "</a x='>'>",
    "</>",
    "</ x>",
    "</",
    "<p>",
    "<P CLASS=\"a>b\">",
    "<b>",
    "</b>",
    "<br/>",
    "<br//>",
    "<br / >",
    "<title>",
    "</title>",
    "</TITLE >",
    "<title>A &mdash; B</title>",
    "<textarea>",
    "</textarea>",
    "<script>",
    "</script>",
    "</SCRIPT\n>",
    "</scriptx>",
    "<script src=s.js>var a='<b>'</script>",
    "<style>",
    "</style>",
    "<xmp>",
    "</xmp>",
    "<noframes>",
    "</noframes>",
    "<noscript>",
    "<!--",
    "<!-->",
    "<!--->",
    "<!---->",
    "<!-- <a href=z> -->",
    "--",
    "-->",
    "--!>",
    "-",
    "!",
    "<!doctype html>",
    "<!DOCTYPE html PUBLIC \"a>b\">",
    "<!x",
    "<?pi",
    "?>",
    "<svg>",
    "<SVG>",
    "</svg>",
    "<svg/>",
    "<math>",
    "</math>",
    "<foreignObject>",
    "</foreignobject>",
    "<desc>",
    "<![CDATA[",
    "<![cdata[",
    "]]>",
    ">",
    "<",
    "< a",
    "<3",
    "&lt",
    "&lt;",
    "&",
    "&&amp;",
    "&am",
    "p;",
    "&ampx",
    "&middotx",
    "<a href=&brvbar>",
    "&notit;",
    "&notin;",
    "&copy",
    "&hellip;",
    "&NotEqualTilde;",
    "&CounterClockwiseContourIntegral;",
    "&nosuchthing;",
    "&#6",
    "5;",
    "&#",
    "&#x",
    "&#xZ",
    "&#x80;",
    "&#129;",
    "&#13;",
    "&#0;",
    "&#xD800;",
    "&#xFFFE;",
    "&#99999999999;",
    "&#x1F600",
    "&nbsp;",
    "\r",
    "\r\n",
    "\n",
    "\0",
    "\u{feff}",
    " ",
    "\t",
    "word",
    "Ä",
    "漢",
    "=",
    "\"",
    "'",
    "/",
    "#",
];

/// Bits that are rare enough to be left out of most soups: they swallow the rest.
const GREEDY: &[&str] = &["<plaintext>", "<listing", "<a href=\"never ends"];

/// A stream of soups.
pub(crate) struct Soups {
    state: u64,
}

impl Soups {
    /// Soups of this seed.
    pub(crate) fn new(seed: u64) -> Soups {
        Soups { state: seed }
    }

    /// SplitMix64.
    fn number(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % below as u64) as usize
    }

    /// The next soup. Some are long enough to be handed on in pieces.
    pub(crate) fn next_soup(&mut self) -> String {
        let mut soup = String::new();
        for _ in 0..self.number(40) {
            match self.number(400) {
                0 => soup.push_str(GREEDY[self.number(GREEDY.len())]),
                1 => soup.push_str(&"x".repeat(32 * 1024 - self.number(40))),
                _ => soup.push_str(BITS[self.number(BITS.len())]),
            }
        }
        soup
    }
}
