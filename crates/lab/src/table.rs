//! Tables: aligned text for a terminal, rows for a page.

/// A table of text, numbers to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub title: String,
    /// Numbers are set to the right, words to the left.
    pub numbers: bool,
}

impl Table {
    /// A table with these columns; a title that begins with `#` is a column of numbers.
    pub fn new(titles: &[&str]) -> Self {
        let column = |title: &&str| Column {
            title: title.trim_start_matches('#').to_owned(),
            numbers: title.starts_with('#'),
        };
        Self {
            columns: titles.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, one cell a column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(cells);
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The table as aligned lines.
    pub fn text(&self) -> String {
        let width = |index: usize| {
            let cells = self.rows.iter().map(|row| row[index].chars().count());
            cells
                .chain([self.columns[index].title.chars().count()])
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for (index, cell) in cells.enumerate() {
                let padding = " ".repeat(widths[index] - cell.chars().count());
                let gap = if index == 0 { "" } else { "  " };
                let (before, after) = if self.columns[index].numbers {
                    (padding.as_str(), "")
                } else {
                    ("", padding.as_str())
                };
                line.push_str(&format!("{gap}{before}{cell}{after}"));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        };
        line(&mut self.columns.iter().map(|column| column.title.as_str()));
        for row in &self.rows {
            line(&mut row.iter().map(String::as_str));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_to_the_left_numbers_to_the_right() {
        let mut table = Table::new(&["policy", "#downloads"]);
        table.row(["rankmass".to_owned(), "12".to_owned()]);
        table.row(["é".to_owned(), "1,234".to_owned()]);
        expect_test::expect![[r"
            policy    downloads
            rankmass         12
            é             1,234
        "]]
        .assert_eq(&table.text());
    }
}
