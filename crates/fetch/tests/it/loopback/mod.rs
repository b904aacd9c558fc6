//! Rows R, H, M and Q of the fault matrix, and U as far as a server has a part in it, end to end: a site on loopback that misbehaves as the
//! row says, and the way from the client through decoding to robots, pages, lists and verdicts.
//!
//! The rules themselves are tested in `robots`, `html`, `lists` and `soft404`, without a socket
//! and in every detail; here stands one test per row that what a server sends comes out right.
//!
//! | row | test |
//! |---|---|
//! | R1 | `robots::r1_a_file_of_600_kib` |
//! | R2 | `robots::r2_a_missing_file_opens_the_site` |
//! | R3 | `robots::r3_too_many_requests` |
//! | R4 | `robots::r4_unreachable_in_every_way`, `r4_a_file_that_broke_off_is_no_file`, `r4_an_old_copy_is_reused` |
//! | R5 | `robots::r5_thirty_days_of_silence`; the clock is an argument, so thirty days are one call |
//! | R6 | `robots::r6_redirects_across_hosts` |
//! | R8 | `robots::r8_html_instead_of_a_file`; the flag is there, the metric is the crawl's |
//! | R9 | `robots::r9_byte_order_marks_line_ends_and_nul` |
//! | R11 | `robots::r11_two_groups_for_us` |
//! | R12 | `robots::r12_a_file_that_changes_under_way`; 20 URLs, because the verdict is asked for before each of them, however many wait |
//! | R13 | `robots::r13_crawl_delays` |
//! | R14 | `robots::r14_a_restart` |
//! | R15 | `robots::r15_header_lines_for_us_and_for_others` |
//! | R16 | `robots::r16_a_redirect_to_where_we_may_not_go` |
//! | H1 | `pages::h1_a_tag_without_end`; the server sends 100 MiB, the client takes its 10 |
//! | H2 | `pages::h2_a_million_nested_elements` |
//! | H3 | `pages::h3_half_a_million_links` |
//! | H4 | `pages::h4_bases` |
//! | H5 | `pages::h5_encodings_that_disagree` |
//! | H7 | `pages::h7_pictures_and_documents_called_html` |
//! | H8 | `pages::h8_a_billion_laughs` |
//! | U3, U4, U5, U6 | `pages::u3_u4_u5_u6_addresses_in_a_page`; asking for such a URL is in `http1` |
//! | U1, U7 | none: text in, text out, with no server to misbehave; `urls` and `examples/conformance` |
//! | M1 | `lists::m1_loops_and_depth`, `m1_too_many_too_long_and_bombs` |
//! | M2 | `lists::m2_other_hosts` |
//! | M3 | `lists::m3_broken_lists` |
//! | M4 | `lists::m4_feeds` |
//! | Q1 | `soft404::q1_sites_that_do_not_say_gone`; recall over the published sites is measured by `examples/conformance` |
//! | Q2 | `soft404::q2_a_login_wall` |
//!
//! R7, R10 and H6 do not exist in the matrix.

mod lists;
mod pages;
mod robots;
mod site;
mod soft404;
